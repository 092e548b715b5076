//! The open sessions of all keys.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, UInt16Array};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion_common::{Result, internal_err};

use crate::runtime::TableSnapshot;
use crate::state::key_group::key_groups;
use crate::state::{Due, KeyInterner, StateTable, distinct_where};
use crate::time::{LocalZone, TimeWindow};

/// The end of a list of sessions.
const NONE: u32 = u32::MAX;

/// Which sessions are open: for each key a list of disjoint windows, more than a gap apart. A session
/// has a slot, under which its owner keeps what belongs to it.
///
/// With an allowed lateness sessions stay when they have fired, until they take no rows any more: a row
/// that joins one opens it again.
#[derive(Debug)]
pub(crate) struct Sessions {
    gap: i64,
    /// The allowed lateness in milliseconds.
    lateness: i64,
    key_fields: Vec<Field>,
    keys: KeyInterner,
    /// The first session of each key; the others follow by `next`.
    first: Vec<u32>,
    windows: Vec<TimeWindow>,
    /// The key of each session; `NONE` of a slot without one.
    key_of: Vec<u32>,
    next: Vec<u32>,
    free: Vec<u32>,
    /// When to look at a session next: its end, or an earlier one that it had. Growing a session
    /// thus costs nothing.
    due: BinaryHeap<Reverse<(i64, u32)>>,
    /// The time at which each session stands in `due`; `FIRED` if it waits for nothing.
    queued: Vec<i64>,
    /// When sessions that have fired take no rows any more: the ends that they had when they fired.
    leaving: BinaryHeap<Reverse<(i64, u32)>>,
}

/// What `queued` is of a session that has fired, and of a slot without one.
const FIRED: i64 = i64::MIN;

/// The session that a row belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed {
    /// The session's slot.
    pub slot: u32,
    /// The session's window before; `None`: it is new.
    pub before: Option<TimeWindow>,
    /// A session that the row has joined to it. Its slot must be cleared before it is used again,
    /// which may be for the next row.
    pub absorbed: Option<Absorbed>,
}

/// A session that is part of another now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Absorbed {
    pub slot: u32,
    /// Its window when it still was one.
    pub window: TimeWindow,
    pub has_fired: bool,
}

impl Sessions {
    pub(crate) fn try_new(gap: i64, lateness: i64, key_fields: Vec<Field>) -> Result<Self> {
        let types: Vec<_> = key_fields.iter().map(|field| field.data_type().clone()).collect();
        Ok(Sessions {
            gap,
            lateness,
            key_fields,
            keys: KeyInterner::try_new(&types)?,
            first: vec![],
            windows: vec![],
            key_of: vec![],
            next: vec![],
            free: vec![],
            due: BinaryHeap::new(),
            queued: vec![],
            leaving: BinaryHeap::new(),
        })
    }

    /// The slots of keys. Each must get a session by [`Sessions::place`] or be given back by
    /// [`Sessions::forget_unused`].
    pub(crate) fn intern(&mut self, keys: &[ArrayRef], rows: usize) -> Result<Vec<u32>> {
        let mut slots = vec![];
        self.keys.intern(keys, rows, &mut slots)?;
        self.first.resize(self.keys.slots(), NONE);
        Ok(slots)
    }

    /// Puts a row of a key into its session, which may join two. `None`: it joins no session that takes
    /// rows, and the one it would start takes none any more. `has_passed` tells of a time whether it is
    /// over.
    pub(crate) fn place(&mut self, key: u32, time: i64, has_passed: impl Fn(i64) -> bool) -> Option<Placed> {
        let mut window = TimeWindow { start: time, end: time + self.gap };
        let mut joined = [NONE; 2];
        let mut count = 0;
        let mut slot = self.first[key as usize];
        while slot != NONE {
            let open = self.windows[slot as usize];
            if open.start <= window.end && open.end >= window.start && count < joined.len() {
                joined[count] = slot;
                count += 1;
            }
            slot = self.next[slot as usize];
        }
        let placed = match joined {
            [NONE, _] => {
                if has_passed(window.end.saturating_add(self.lateness)) {
                    return None;
                }
                Placed { slot: self.open(key, window), before: None, absorbed: None }
            }
            [one, NONE] => Placed { slot: one, before: Some(self.windows[one as usize]), absorbed: None },
            [one, other] => {
                let (early, late) = match self.windows[one as usize] < self.windows[other as usize] {
                    true => (one, other),
                    false => (other, one),
                };
                let absorbed = self.windows[early as usize];
                window.start = window.start.min(absorbed.start);
                let has_fired = self.has_fired(early);
                self.unlink(early);
                Placed {
                    slot: late,
                    before: Some(self.windows[late as usize]),
                    absorbed: Some(Absorbed { slot: early, window: absorbed, has_fired }),
                }
            }
        };
        let session = &mut self.windows[placed.slot as usize];
        session.start = session.start.min(window.start);
        session.end = session.end.max(window.end);
        Some(placed)
    }

    fn open(&mut self, key: u32, window: TimeWindow) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.windows.push(window);
            self.key_of.push(key);
            self.next.push(NONE);
            self.queued.push(FIRED);
            (self.windows.len() - 1) as u32
        });
        let place = slot as usize;
        self.windows[place] = window;
        self.key_of[place] = key;
        self.next[place] = self.first[key as usize];
        self.first[key as usize] = slot;
        self.await_end(slot);
        slot
    }

    /// The session is to fire at its end, be it for the first time or again.
    pub(crate) fn await_end(&mut self, slot: u32) {
        let end = self.windows[slot as usize].end;
        self.queued[slot as usize] = end;
        self.due.push(Reverse((end, slot)));
    }

    /// The session has fired.
    pub(crate) fn set_fired(&mut self, slot: u32) {
        self.queued[slot as usize] = FIRED;
        if self.lateness > 0 {
            self.leaving.push(Reverse((self.windows[slot as usize].end, slot)));
        }
    }

    /// Whether a session has fired and has not been opened again.
    pub(crate) fn has_fired(&self, slot: u32) -> bool {
        self.queued[slot as usize] == FIRED
    }

    /// Takes a session out of its key's list and frees its slot.
    fn unlink(&mut self, slot: u32) {
        let key = self.key_of[slot as usize] as usize;
        let next = self.next[slot as usize];
        if self.first[key] == slot {
            self.first[key] = next;
        } else {
            let mut before = self.first[key];
            while before != NONE && self.next[before as usize] != slot {
                before = self.next[before as usize];
            }
            if before != NONE {
                self.next[before as usize] = next;
            }
        }
        self.queued[slot as usize] = FIRED;
        self.key_of[slot as usize] = NONE;
        self.free.push(slot);
    }

    /// The sessions that are over and have not fired, in the order of their ends; they have now. They are
    /// there until [`Sessions::close`].
    pub(crate) fn over(&mut self, is_over: impl Fn(i64) -> bool) -> Vec<u32> {
        let mut over = vec![];
        while let Some(Reverse((time, slot))) = self.due.peek().copied() {
            if !is_over(time) {
                break;
            }
            self.due.pop();
            let queued = &mut self.queued[slot as usize];
            if *queued != time {
                continue;
            }
            let end = self.windows[slot as usize].end;
            if is_over(end) {
                self.set_fired(slot);
                over.push(slot);
            } else {
                *queued = end;
                self.due.push(Reverse((end, slot)));
            }
        }
        over.sort_by_key(|slot| self.windows[*slot as usize].end);
        over
    }

    /// Of the sessions that have fired those that take no rows any more.
    pub(crate) fn gone(&mut self, has_passed: impl Fn(i64) -> bool) -> Vec<u32> {
        let mut gone = vec![];
        while let Some(Reverse((end, slot))) = self.leaving.peek().copied() {
            if !has_passed(end.saturating_add(self.lateness)) {
                break;
            }
            self.leaving.pop();
            let place = slot as usize;
            let is_there = self.key_of[place] != NONE && self.has_fired(slot);
            // the session may have grown since, or the slot may have another
            if is_there && self.windows[place].end == end {
                gone.push(slot);
            }
        }
        gone.sort_unstable();
        gone.dedup();
        gone
    }

    /// Time has passed some ends: forgets the sessions that take no rows any more.
    pub(crate) fn pass(&mut self, has_passed: impl Fn(i64) -> bool) {
        let over = self.over(&has_passed);
        let gone = if self.lateness == 0 { over } else { self.gone(has_passed) };
        self.close(&gone);
    }

    /// A time, not after the end of any session, before which none is over.
    pub(crate) fn next_end(&self) -> Option<i64> {
        self.due.peek().map(|Reverse((time, _))| *time)
    }

    /// Ends sessions and frees their slots, and those of keys that have no other.
    pub(crate) fn close(&mut self, slots: &[u32]) {
        let keys: Vec<u32> = slots.iter().map(|slot| self.key_of[*slot as usize]).collect();
        for slot in slots {
            self.unlink(*slot);
        }
        self.forget_unused(keys);
    }

    /// Gives back the slots of keys that have no session.
    pub(crate) fn forget_unused(&mut self, keys: Vec<u32>) {
        self.keys.release(&distinct_where(keys, |key| self.first[key as usize] == NONE));
    }

    /// The number of slots in existence.
    pub(crate) fn slots(&self) -> usize {
        self.windows.len()
    }

    /// The window of a session.
    pub(crate) fn window(&self, slot: u32) -> TimeWindow {
        self.windows[slot as usize]
    }

    /// The keys of sessions.
    pub(crate) fn keys(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let keys: Vec<u32> = slots.iter().map(|slot| self.key_of[*slot as usize]).collect();
        self.keys.columns(&keys)
    }

    /// The sessions that take rows.
    pub(crate) fn live(&self) -> Vec<u32> {
        (0..self.slots() as u32).filter(|slot| self.key_of[*slot as usize] != NONE).collect()
    }

    /// The key groups, keys, starts and ends of sessions, and whether they have fired, as columns of a
    /// snapshot.
    pub(crate) fn columns(&self, slots: &[u32]) -> Result<(Vec<Field>, Vec<ArrayRef>)> {
        let keys = self.keys(slots)?;
        let groups = key_groups(&keys, slots.len())?;
        let mut fields = vec![Field::new("key_group", DataType::UInt16, false)];
        let mut columns: Vec<ArrayRef> = vec![Arc::new(UInt16Array::from(groups))];
        fields.extend(self.key_fields.iter().cloned());
        columns.extend(keys);
        let mut add = |name: &str, value: &dyn Fn(u32) -> i64| {
            fields.push(Field::new(name, DataType::Int64, false));
            columns.push(Arc::new(Int64Array::from_iter_values(slots.iter().map(|slot| value(*slot)))));
        };
        add("$start", &|slot| self.window(slot).start);
        add("$end", &|slot| self.window(slot).end);
        add("$fired", &|slot| i64::from(self.has_fired(slot)));
        Ok((fields, columns))
    }

    /// Opens the sessions of a snapshot, given without its key groups; returns their slots and the
    /// columns that follow.
    pub(crate) fn restore_columns<'a>(
        &mut self,
        rows: &'a RecordBatch,
    ) -> Result<(Vec<u32>, &'a [ArrayRef])> {
        let Some((keys, [starts, ends, fired, rest @ ..])) =
            rows.columns().split_at_checked(self.key_fields.len())
        else {
            return internal_err!("the snapshot of sessions lacks its keys or windows");
        };
        let keys = self.intern(keys, rows.num_rows())?;
        let starts = starts.as_primitive::<Int64Type>().values();
        let ends = ends.as_primitive::<Int64Type>().values();
        let fired = fired.as_primitive::<Int64Type>().values();
        let mut slots = Vec::with_capacity(keys.len());
        for (row, key) in keys.iter().enumerate() {
            let slot = self.open(*key, TimeWindow { start: starts[row], end: ends[row] });
            if fired[row] != 0 {
                self.set_fired(slot);
            }
            slots.push(slot);
        }
        Ok((slots, rest))
    }

    /// When to see sessions again, given in the order of `slots`: at their ends, or when those that have
    /// fired take no rows any more.
    pub(crate) fn due(&self, slots: &[u32], zone: LocalZone, proctime: bool) -> Due {
        let over = |slot: &u32| {
            let end = self.windows[*slot as usize].end;
            let end = if self.has_fired(*slot) { end.saturating_add(self.lateness) } else { end };
            zone.over_at(end)
        };
        match proctime {
            true => Due::at_times(slots.iter().map(over).collect()),
            false => Due::at_watermarks(slots.iter().map(|slot| over(slot).saturating_sub(1)).collect()),
        }
    }

    /// Bytes held, by capacity.
    pub(crate) fn bytes(&self) -> usize {
        let words =
            self.first.capacity() + self.key_of.capacity() + self.next.capacity() + self.free.capacity();
        self.keys.memory_size()
            + words * size_of::<u32>()
            + self.windows.capacity() * size_of::<TimeWindow>()
            + self.queued.capacity() * size_of::<i64>()
            + (self.due.capacity() + self.leaving.capacity()) * size_of::<(i64, u32)>()
    }
}

/// Sessions with nothing that belongs to them.
impl StateTable for Sessions {
    fn name(&self) -> &str {
        "sessions"
    }

    fn memory_size(&self) -> usize {
        self.bytes()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let (fields, columns) = self.columns(&self.live())?;
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        Ok(TableSnapshot { name: self.name().to_string(), keyed: true, rows })
    }

    fn restore(&mut self, rows: &RecordBatch) -> Result<()> {
        self.restore_columns(rows)?;
        Ok(())
    }
}
