//! What an OVER aggregation keeps of each key, and its snapshot.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions, UInt16Array,
    new_null_array,
};
use arrow::compute::{concat, filter_record_batch};
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type, Schema};
use datafusion_common::{Result, internal_err};

use super::around::Around;
use super::{OverCall, OverFrame, OverNode};
use crate::operators::aggregate::{AggregateCall, Aggregates};
use crate::runtime::TableSnapshot;
use crate::state::key_group::key_groups;
use crate::state::{self, Evictable, Expiry, KeyInterner, RowId, RowStore, StateTable, TimeQueue};
use crate::time::Watermark;

/// An event time at which a key has something to do: a row of it, or [`NO_ROW`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Due {
    pub slot: u32,
    pub row: RowId,
}

/// In place of a row: at that time the key may be forgotten, or a row of it may be complete.
pub(super) const NO_ROW: RowId = RowId::MAX;

/// Keys, their rows and their running aggregates: columns indexed by slot.
pub(super) struct OverState {
    node: OverNode,
    pub keys: KeyInterner,
    pub aggregates: Aggregates,
    pub store: RowStore,
    /// Rows that the watermark has not passed.
    pub waiting: TimeQueue<Due>,
    /// The rows in the frame, or those that LAG looks back at, oldest first.
    pub frames: Vec<VecDeque<(i64, RowId)>>,
    pub positions: Vec<Position>,
    pub expiry: Expiry,
    frame_rows: usize,
    /// Keys with rows that wait for those behind them, by the time of the first, or one that was it before.
    pending: BinaryHeap<Reverse<(i64, u32)>>,
    /// How far event time must come behind such a row, if it must.
    time_behind: Option<i64>,
}

/// Where a key stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    /// The time that the key came to last: what is not newer is late for a bounded frame. It starts at
    /// the epoch, as Flink's does.
    pub last: i64,
    /// When the key is forgotten unless it gets rows; `i64::MAX`: never.
    pub clean_up: i64,
    /// Rows so far.
    pub rows: i64,
    /// The rank of the rows at `peers`.
    pub rank: i64,
    /// The number of different times so far.
    pub dense_rank: i64,
    /// The time of the last row.
    pub peers: i64,
    /// The row of the frame that the aggregates start with, the one behind those that they have, and the first
    /// that waits for those behind it.
    pub from: usize,
    pub to: usize,
    pub next: usize,
    /// Whether the key is among the pending ones, and whether it is to be looked at at a time.
    pub is_pending: bool,
    pub is_timed: bool,
}

impl Default for Position {
    fn default() -> Self {
        Position {
            last: 0,
            clean_up: i64::MAX,
            rows: 0,
            rank: 0,
            dense_rank: 0,
            peers: i64::MIN,
            from: 0,
            to: 0,
            next: 0,
            is_pending: false,
            is_timed: false,
        }
    }
}

/// What a row of the snapshot is.
const WAITING: i64 = 0;
const FRAME: i64 = 1;
const KEY: i64 = 2;
/// A time at which the key was to be forgotten before it got further rows: Flink's timers stay, and move the
/// key's last time on.
const TIMER: i64 = 3;

/// The numbers of a row of the snapshot: what it is, its time, and the position of a key.
const NUMBERS: [&str; 12] = [
    "$role",
    "$time",
    "$last",
    "$clean_up",
    "$rows",
    "$rank",
    "$dense_rank",
    "$peers",
    "$from",
    "$to",
    "$next",
    "$written",
];

impl OverState {
    pub(super) fn try_new(node: OverNode, calls: &[AggregateCall]) -> Result<Self> {
        let types: Vec<DataType> =
            node.input.fields().iter().map(|field| field.data_type().clone()).collect();
        let keys: Vec<DataType> = node.keys.iter().map(|key| types[*key].clone()).collect();
        Ok(OverState {
            keys: KeyInterner::try_new(&keys)?,
            aggregates: match node.frame.loses_rows() {
                true => Aggregates::for_frames(calls, &types)?,
                false => Aggregates::try_new(calls, &types, false)?,
            },
            store: RowStore::new(Arc::clone(&node.input)),
            waiting: TimeQueue::new(),
            frames: vec![],
            positions: vec![],
            expiry: Expiry::new(node.ttl),
            frame_rows: 0,
            pending: BinaryHeap::new(),
            time_behind: Around::of(&node).and_then(|around| around.waits_for_time()),
            node,
        })
    }

    /// Whether released rows are kept, for their frame or for LAG.
    pub(super) fn keeps_rows(&self) -> bool {
        self.node.frame.is_bounded()
            || matches!(self.node.frame, OverFrame::Between { .. })
            || self.node.calls.iter().any(|call| matches!(call, OverCall::Lag { .. }))
    }

    /// The slot of the key of each row.
    pub(super) fn intern(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Vec<u32>> {
        let keys: Vec<ArrayRef> = self.node.keys.iter().map(|key| Arc::clone(&columns[*key])).collect();
        let mut slots = vec![];
        self.keys.intern(&keys, rows, &mut slots)?;
        let room = self.keys.slots();
        self.aggregates.grow(room);
        self.positions.resize_with(room, Position::default);
        self.expiry.grow(room);
        if self.keeps_rows() {
            self.frames.resize_with(room, VecDeque::new);
        }
        Ok(slots)
    }

    pub(super) fn push_frame(&mut self, slot: u32, time: i64, row: RowId) {
        self.frames[slot as usize].push_back((time, row));
        self.frame_rows += 1;
    }

    pub(super) fn pop_frame(&mut self, slot: u32) -> Option<RowId> {
        let (_, row) = self.frames[slot as usize].pop_front()?;
        self.frame_rows -= 1;
        Some(row)
    }

    /// Forgets what a key has; its waiting rows stay.
    pub(super) fn forget(&mut self, slot: u32) {
        while self.keeps_rows()
            && let Some(row) = self.pop_frame(slot)
        {
            self.store.remove(row);
        }
        self.aggregates.clear(&[slot]);
        self.positions[slot as usize] = Position::default();
    }

    /// Sees to it that the rows of a key that wait for those behind them are looked at when a watermark beyond this
    /// one has passed the end of the first one's frame.
    pub(super) fn look_again(&mut self, slot: u32, watermark: Watermark) {
        let position = &mut self.positions[slot as usize];
        let Some((time, _)) = self.frames[slot as usize].get(position.next).copied() else { return };
        if !position.is_pending {
            position.is_pending = true;
            self.pending.push(Reverse((time, slot)));
        }
        if let Some(end) = self.time_behind
            && !position.is_timed
            && time.saturating_add(end) > watermark.0
        {
            position.is_timed = true;
            self.waiting.push(time.saturating_add(end), Due { slot, row: NO_ROW });
        }
    }

    /// The keys with rows that wait for those behind them; others may be among them, and any more than once.
    pub(super) fn pending_slots(&self) -> impl Iterator<Item = u32> + '_ {
        self.pending.iter().map(|Reverse((_, slot))| *slot)
    }

    /// The time of the oldest row that waits for those behind it.
    pub(super) fn oldest_pending(&mut self) -> Option<i64> {
        loop {
            let mut top = self.pending.peek_mut()?;
            let Reverse((time, slot)) = *top;
            let position = &mut self.positions[slot as usize];
            match self.frames[slot as usize].get(position.next) {
                Some((first, _)) if *first == time => return Some(time),
                Some((first, _)) => *top = Reverse((*first, slot)),
                None => {
                    position.is_pending = false;
                    PeekMut::pop(top);
                }
            }
        }
    }

    /// Keys that have had no rows for their time to live, and have none that the watermark has not passed.
    pub(super) fn expired(&mut self, now: i64) -> Vec<u32> {
        let mut is_waiting = vec![false; self.positions.len()];
        for (_, due) in self.waiting.iter().filter(|(_, due)| due.row != NO_ROW) {
            is_waiting[due.slot as usize] = true;
        }
        let (waiting, expired): (Vec<u32>, Vec<u32>) =
            self.expiry.sweep(now).into_iter().partition(|slot| is_waiting[*slot as usize]);
        for slot in waiting {
            self.expiry.touch(slot, now);
        }
        expired
    }

    /// Forgets keys for good.
    pub(super) fn release(&mut self, slots: &[u32]) -> Result<()> {
        for slot in slots {
            self.forget(*slot);
        }
        self.keys.release(slots);
        self.store.close()
    }

    /// The columns of the snapshot: the row, the numbers, the aggregates' state.
    fn snapshot_fields(&self, state: &[(Field, ArrayRef)]) -> Vec<FieldRef> {
        let rows = self.node.input.fields().iter();
        let mut fields: Vec<FieldRef> =
            rows.map(|field| Arc::new(field.as_ref().clone().with_nullable(true))).collect();
        fields.extend(NUMBERS.map(|name| Arc::new(Field::new(name, DataType::Int64, false))));
        fields.extend(state.iter().map(|(field, _)| Arc::new(field.clone().with_nullable(true))));
        fields
    }
}

impl StateTable for OverState {
    fn name(&self) -> &str {
        "over"
    }

    fn memory_size(&self) -> usize {
        self.keys.memory_size()
            + self.aggregates.memory_size()
            + self.store.memory_size()
            + self.waiting.memory_size()
            + self.frames.capacity() * size_of::<VecDeque<(i64, RowId)>>()
            + self.frame_rows * size_of::<(i64, RowId)>() * 3 / 2
            + self.positions.capacity() * size_of::<Position>()
            + self.pending.capacity() * size_of::<(i64, u32)>()
            + self.expiry.memory_size()
    }

    /// A row for each row that is kept, one for each key, and one for each timer that has been put off.
    fn snapshot(&self) -> Result<TableSnapshot> {
        let (mut ids, mut roles, mut times) = (vec![], vec![], vec![]);
        for (time, due) in self.waiting.iter().filter(|(_, due)| due.row != NO_ROW) {
            ids.push(due.row);
            roles.push(WAITING);
            times.push(*time);
        }
        for (time, row) in self.frames.iter().flatten() {
            ids.push(*row);
            roles.push(FRAME);
            times.push(*time);
        }
        let rows = self.store.rows(&ids)?;
        let slots = self.keys.live_slots();
        let slots: Vec<u32> =
            slots.into_iter().filter(|slot| (*slot as usize) < self.positions.len()).collect();
        // where frames end behind the row, the times are worked out anew
        let has_timers = !matches!(self.node.frame, OverFrame::Between { .. });
        let put_off = |(time, due): &&(i64, Due)| {
            has_timers
                && due.row == NO_ROW
                && slots.binary_search(&due.slot).is_ok()
                && self.positions[due.slot as usize].clean_up != *time
        };
        let timers: Vec<(i64, u32)> =
            self.waiting.iter().filter(put_off).map(|(time, due)| (*time, due.slot)).collect();
        let with_timers: Vec<u32> =
            slots.iter().copied().chain(timers.iter().map(|(_, slot)| *slot)).collect();
        let keys = self.keys.columns(&with_timers)?;
        let state = self.aggregates.snapshot(&slots)?;
        let fields = self.snapshot_fields(&state);

        let mut columns: Vec<ArrayRef> = vec![];
        for (column, field) in self.node.input.fields().iter().enumerate() {
            let of_keys = match self.node.keys.iter().position(|key| *key == column) {
                Some(place) => Arc::clone(&keys[place]),
                None => new_null_array(field.data_type(), with_timers.len()),
            };
            columns.push(concat(&[rows.column(column), &of_keys])?);
        }
        let total = ids.len() + with_timers.len();
        roles.resize(ids.len() + slots.len(), KEY);
        times.resize(ids.len() + slots.len(), 0);
        roles.resize(total, TIMER);
        times.extend(timers.iter().map(|(time, _)| *time));
        columns.push(Arc::new(Int64Array::from(roles)));
        columns.push(Arc::new(Int64Array::from(times)));
        let numbers: [fn(&Position) -> i64; 9] = [
            |p| p.last,
            |p| p.clean_up,
            |p| p.rows,
            |p| p.rank,
            |p| p.dense_rank,
            |p| p.peers,
            |p| p.from as i64,
            |p| p.to as i64,
            |p| p.next as i64,
        ];
        for number in numbers {
            let of_keys = slots.iter().map(|slot| number(&self.positions[*slot as usize]));
            let of_rows = std::iter::repeat_n(0, ids.len());
            let of_timers = std::iter::repeat_n(0, timers.len());
            columns.push(Arc::new(Int64Array::from_iter_values(of_rows.chain(of_keys).chain(of_timers))));
        }
        let of_keys = slots.iter().map(|slot| self.expiry.written(*slot));
        let of_rows = std::iter::repeat_n(0, ids.len());
        let of_timers = std::iter::repeat_n(0, timers.len());
        columns.push(Arc::new(Int64Array::from_iter_values(of_rows.chain(of_keys).chain(of_timers))));
        for (_, array) in &state {
            let nulls = |rows: usize| new_null_array(array.data_type(), rows);
            columns.push(concat(&[&nulls(ids.len()), array, &nulls(timers.len())])?);
        }

        let key_columns: Vec<ArrayRef> =
            self.node.keys.iter().map(|key| Arc::clone(&columns[*key])).collect();
        let groups = key_groups(&key_columns, total)?;
        columns.insert(0, Arc::new(UInt16Array::from(groups)));
        let group = Arc::new(Field::new("key_group", DataType::UInt16, false));
        let fields: Vec<FieldRef> = std::iter::once(group).chain(fields).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(total));
        let rows = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?;
        Ok(TableSnapshot { name: self.name().to_string(), keyed: true, rows })
    }

    fn restore(&mut self, saved: &RecordBatch) -> Result<()> {
        let width = self.node.input.fields().len();
        if saved.num_columns() < width + NUMBERS.len() {
            return internal_err!("the snapshot of an OVER aggregation lacks columns");
        }
        let roles = saved.column(width).as_primitive::<Int64Type>();
        let part = |wanted: &[i64]| {
            let is_wanted = |role: Option<i64>| role.is_some_and(|role| wanted.contains(&role));
            let mask: BooleanArray = roles.iter().map(|role| Some(is_wanted(role))).collect();
            filter_record_batch(saved, &mask)
        };
        let keys = part(&[KEY])?;
        let number = |batch: &RecordBatch, number: usize| -> Vec<i64> {
            batch.column(width + number).as_primitive::<Int64Type>().values().to_vec()
        };
        let slots = self.intern(&keys.columns()[..width], keys.num_rows())?;
        let numbers: Vec<Vec<i64>> = (2..NUMBERS.len()).map(|place| number(&keys, place)).collect();
        for (row, slot) in slots.iter().enumerate() {
            let position = Position {
                last: numbers[0][row],
                clean_up: numbers[1][row],
                rows: numbers[2][row],
                rank: numbers[3][row],
                dense_rank: numbers[4][row],
                peers: numbers[5][row],
                from: numbers[6][row] as usize,
                to: numbers[7][row] as usize,
                next: numbers[8][row] as usize,
                ..Position::default()
            };
            if position.clean_up != i64::MAX {
                self.waiting.push(position.clean_up, Due { slot: *slot, row: NO_ROW });
            }
            self.positions[*slot as usize] = position;
            self.expiry.touch(*slot, numbers[9][row]);
        }
        self.aggregates.restore(&slots, &keys.columns()[width + NUMBERS.len()..])?;

        let timers = part(&[TIMER])?;
        let slots = self.intern(&timers.columns()[..width], timers.num_rows())?;
        for (slot, time) in slots.into_iter().zip(number(&timers, 1)) {
            self.waiting.push(time, Due { slot, row: NO_ROW });
        }

        let rows = part(&[WAITING, FRAME])?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let columns = rows.columns()[..width].to_vec();
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.node.input), columns, &options)?;
        let (roles, times) = (number(&rows, 0), number(&rows, 1));
        let slots = self.intern(batch.columns(), batch.num_rows())?;
        self.store.open(&batch);
        for (row, slot) in slots.into_iter().enumerate() {
            let id = self.store.add(row);
            match roles[row] == WAITING {
                true => self.waiting.push(times[row], Due { slot, row: id }),
                false => self.push_frame(slot, times[row], id),
            }
        }
        if matches!(self.node.frame, OverFrame::Between { .. }) {
            (0..self.frames.len() as u32).for_each(|slot| self.look_again(slot, Watermark::MIN));
        }
        self.store.close()
    }

    /// Where frames end behind the row, what a key waits for is not in its rows.
    fn evictable(&self) -> Option<Evictable> {
        if matches!(self.node.frame, OverFrame::Between { .. }) {
            return None;
        }
        Some(Evictable { keys: self.node.keys.clone(), ttl: self.node.ttl })
    }

    fn due(&self, rows: &RecordBatch, _watermark: i64) -> Result<state::Due> {
        let width = self.node.input.fields().len();
        let number = |number: usize| rows.column(width + number).as_primitive::<Int64Type>().values();
        let (roles, times, clean_ups) = (number(0), number(1), number(3));
        let due = |row: usize| match roles[row] {
            WAITING | TIMER => times[row],
            KEY => clean_ups[row],
            _ => i64::MAX,
        };
        Ok(state::Due::at_watermarks((0..rows.num_rows()).map(due).collect()))
    }
}
