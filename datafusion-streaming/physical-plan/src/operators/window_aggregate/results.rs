//! What the groups of windows have emitted, and when they emit next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, UInt32Array, new_null_array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use datafusion_common::{Result, internal_err};

use super::open::OpenWindows;
use crate::changelog::ChangelogBatch;
use crate::runtime::TableSnapshot;
use crate::state::{Due, Evictable, RowBuffer, RowRef, StateTable};

/// A time that never comes.
const NEVER: i64 = i64::MAX;

/// The open windows, and of each group the result that is out.
pub(super) struct WindowResults {
    pub(super) windows: OpenWindows,
    /// By slot.
    groups: Vec<GroupResult>,
    /// The values that are out of groups that have changed since.
    before: RowBuffer,
    /// When groups emit: the times at which they stand there, or others that they once had.
    due: BinaryHeap<Reverse<(i64, u32)>>,
}

/// How far a group is with its results. Times are in milliseconds of processing time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GroupResult {
    /// Whether a result is out that has not been taken back.
    pub is_out: bool,
    /// Whether the group had rows when its window fired at its end.
    pub on_time: bool,
    /// Rows since the last emission.
    pub waiting: i64,
    /// The time from which on it emits every delay; [`NEVER`] before the first row of which that is true.
    since: i64,
    /// When it emits next; [`NEVER`] if it has not changed.
    due: i64,
    /// What is out, if that may differ from the state.
    before: Option<RowRef>,
}

const NEW: GroupResult =
    GroupResult { is_out: false, on_time: false, waiting: 0, since: NEVER, due: NEVER, before: None };

impl WindowResults {
    /// `values` are the fields of the results.
    pub(super) fn new(windows: OpenWindows, values: SchemaRef) -> Self {
        WindowResults { windows, groups: vec![], before: RowBuffer::new(values), due: BinaryHeap::new() }
    }

    /// Makes room for the slots of the windows.
    pub(super) fn grow(&mut self) {
        self.groups.resize(self.windows.groups.keys.slots(), NEW);
    }

    /// How far a group is.
    pub(super) fn of(&self, slot: u32) -> GroupResult {
        self.groups.get(slot as usize).copied().unwrap_or(NEW)
    }

    /// What is out changes with rows that are emitted at once.
    pub(super) fn set_out(&mut self, slot: u32, is_out: bool) {
        self.groups[slot as usize].is_out = is_out;
    }

    /// Rows of these groups are about to be folded and wait to be emitted.
    pub(super) fn hold(&mut self, slots: &[u32]) -> Result<()> {
        let mut out = vec![];
        for slot in slots {
            let group = &mut self.groups[*slot as usize];
            if group.waiting == 0 && group.is_out {
                out.push(*slot);
            }
            group.waiting += 1;
        }
        if out.is_empty() {
            return Ok(());
        }
        let values = self.windows.groups.aggregates.evaluate(&out)?;
        self.keep(&out, values)
    }

    fn keep(&mut self, slots: &[u32], values: Vec<ArrayRef>) -> Result<()> {
        let values = RecordBatch::try_new(Arc::clone(self.before.schema()), values)?;
        let rows = self.before.push(ChangelogBatch::insert_only(values))?;
        for (slot, row) in slots.iter().zip(rows) {
            self.groups[*slot as usize].before = Some(row);
        }
        Ok(())
    }

    /// Sees to it that a group emits at the next multiple of `delay` from the first time on that this was
    /// asked for.
    pub(super) fn schedule(&mut self, slot: u32, delay: i64, now: i64) {
        let group = &mut self.groups[slot as usize];
        if group.due != NEVER {
            return;
        }
        if group.since == NEVER {
            group.since = now;
        }
        let elapsed = now.saturating_sub(group.since).div_euclid(delay.max(1));
        group.due = group.since.saturating_add(elapsed.saturating_add(1).saturating_mul(delay));
        self.due.push(Reverse((group.due, slot)));
    }

    /// The windows of these groups have fired at their ends. The delays start anew unless they are `kept`.
    pub(super) fn end(&mut self, slots: &[u32], delays_kept: bool) {
        for slot in slots {
            let group = &mut self.groups[*slot as usize];
            group.on_time = true;
            if !delays_kept {
                group.since = NEVER;
            }
        }
    }

    /// The first time at which a group emits, or an earlier one.
    pub(super) fn next_due(&self) -> Option<i64> {
        self.due.peek().map(|Reverse((time, _))| *time)
    }

    /// Takes the groups that emit by `now`, in the order of their times.
    pub(super) fn take_due(&mut self, now: i64) -> Vec<u32> {
        let mut slots = vec![];
        while let Some(Reverse((time, slot))) = self.due.peek().copied().filter(|due| due.0.0 <= now) {
            self.due.pop();
            let group = &mut self.groups[slot as usize];
            if group.due == time {
                group.due = NEVER;
                slots.push(slot);
            }
        }
        slots
    }

    /// Those of the groups whose results are not out as they are.
    pub(super) fn changed(&self, slots: &[u32]) -> Vec<u32> {
        let is_changed = |slot: &u32| {
            let group = self.of(*slot);
            !group.is_out || group.waiting > 0
        };
        slots.iter().copied().filter(is_changed).collect()
    }

    /// The values that are out of those of the groups that have any.
    pub(super) fn values_out(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let rows: Vec<RowRef> = slots.iter().filter_map(|slot| self.of(*slot).before).collect();
        Ok(self.before.gather(&rows)?.into_parts().0.columns().to_vec())
    }

    /// The results of groups are out as they are.
    pub(super) fn emitted(&mut self, slots: &[u32]) {
        for slot in slots {
            let is_out = self.windows.rows(*slot) != 0;
            let group = &mut self.groups[*slot as usize];
            let before = group.before.take();
            (group.is_out, group.waiting, group.due) = (is_out, 0, NEVER);
            self.before.release(before.as_slice());
        }
    }

    /// Forgets a window; returns the number of rows that were never emitted.
    pub(super) fn close(&mut self, end: i64) -> usize {
        let mut lost = 0;
        for slot in self.windows.by_end.get(&end).into_iter().flatten() {
            let group = std::mem::replace(&mut self.groups[*slot as usize], NEW);
            self.before.release(group.before.as_slice());
            lost += usize::try_from(group.waiting).unwrap_or(0);
        }
        self.windows.close(end);
        lost
    }
}

/// The columns of a snapshot behind those of the windows, besides the values that are out.
const NUMBERS: [&str; 6] = ["$out", "$on_time", "$waiting", "$since", "$due", "$before"];

/// The place of `$due` among them.
const DUE: usize = 4;

impl StateTable for WindowResults {
    fn name(&self) -> &str {
        self.windows.name()
    }

    fn memory_size(&self) -> usize {
        self.windows.memory_size()
            + self.before.memory_size()
            + self.groups.capacity() * size_of::<GroupResult>()
            + self.due.capacity() * size_of::<(i64, u32)>()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let windows = self.windows.snapshot()?;
        let live = self.windows.groups.live_slots();
        let mut fields: Vec<_> = windows.rows.schema().fields().iter().cloned().collect();
        let mut columns = windows.rows.columns().to_vec();
        let groups: Vec<GroupResult> = live.iter().map(|slot| self.of(*slot)).collect();
        let numbers = |group: &GroupResult| {
            let flags = [group.is_out, group.on_time].map(i64::from);
            [flags[0], flags[1], group.waiting, group.since, group.due, i64::from(group.before.is_some())]
        };
        for (place, name) in NUMBERS.into_iter().enumerate() {
            fields.push(Arc::new(Field::new(name, DataType::Int64, false)));
            let values = groups.iter().map(|group| numbers(group)[place]);
            columns.push(Arc::new(Int64Array::from_iter_values(values)));
        }
        let mut next = 0;
        let places = groups.iter().map(|group| {
            group.before.map(|_| {
                next += 1;
                next - 1
            })
        });
        let places: UInt32Array = places.collect();
        let values = self.values_out(&live)?;
        for (field, column) in self.before.schema().fields().iter().zip(values) {
            let name = format!("$before.{}", field.name());
            fields.push(Arc::new(field.as_ref().clone().with_name(name).with_nullable(true)));
            columns.push(match column.is_empty() {
                true => new_null_array(column.data_type(), live.len()),
                false => take(&column, &places, None)?,
            });
        }
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        Ok(TableSnapshot { rows, ..windows })
    }

    fn restore(&mut self, rows: &RecordBatch) -> Result<()> {
        let values = self.before.schema().fields().len();
        let Some(width) = rows.num_columns().checked_sub(NUMBERS.len() + values) else {
            return internal_err!("the snapshot of windows lacks their results");
        };
        self.windows.restore(&rows.project(&(0..width).collect::<Vec<_>>())?)?;
        let slots = self.windows.slots_of(rows.columns(), rows.num_rows())?;
        self.grow();
        let number = |place: usize| rows.column(width + place).as_primitive::<Int64Type>().values();
        let mut with_values = vec![];
        for (row, slot) in slots.iter().enumerate() {
            let [is_out, on_time, waiting, since, due, before] =
                std::array::from_fn(|place| number(place)[row]);
            let (is_out, on_time) = (is_out != 0, on_time != 0);
            self.groups[*slot as usize] = GroupResult { is_out, on_time, waiting, since, due, before: None };
            if due != NEVER {
                self.due.push(Reverse((due, *slot)));
            }
            if before != 0 {
                with_values.push(row as u32);
            }
        }
        if with_values.is_empty() {
            return Ok(());
        }
        let slots: Vec<u32> = with_values.iter().map(|row| slots[*row as usize]).collect();
        let places = UInt32Array::from(with_values);
        let columns = &rows.columns()[width + NUMBERS.len()..];
        let columns = columns.iter().map(|column| Ok(take(column, &places, None)?));
        self.keep(&slots, columns.collect::<Result<_>>()?)
    }

    fn evictable(&self) -> Option<Evictable> {
        self.windows.evictable()
    }

    fn due(&self, rows: &RecordBatch, watermark: i64) -> Result<Due> {
        let mut due = self.windows.due(rows, watermark)?;
        let Some(first) = rows.num_columns().checked_sub(NUMBERS.len() + self.before.schema().fields().len())
        else {
            return internal_err!("the snapshot of windows lacks their results");
        };
        let emits = rows.column(first + DUE).as_primitive::<Int64Type>().values();
        due.times = match due.times.is_empty() {
            true => emits.to_vec(),
            false => due.times.iter().zip(emits).map(|(end, emits)| *end.min(emits)).collect(),
        };
        Ok(due)
    }
}
