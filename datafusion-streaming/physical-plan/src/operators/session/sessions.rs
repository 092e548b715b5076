//! The open sessions of all keys.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, UInt16Array};
use arrow::datatypes::{DataType, Field, Int64Type};
use datafusion_common::{Result, internal_err};

use crate::state::KeyInterner;
use crate::state::key_group::key_groups;
use crate::time::TimeWindow;

/// The end of a list of sessions.
const NONE: u32 = u32::MAX;

/// Which sessions are open: for each key a list of disjoint windows, more than a gap apart. A session
/// has a slot, under which its owner keeps what belongs to it.
#[derive(Debug)]
pub(super) struct Sessions {
    gap: i64,
    key_fields: Vec<Field>,
    keys: KeyInterner,
    /// The first session of each key; the others follow by `next`.
    first: Vec<u32>,
    windows: Vec<TimeWindow>,
    key_of: Vec<u32>,
    next: Vec<u32>,
    free: Vec<u32>,
    /// When to look at a session next: its end, or an earlier one that it had. Growing a session
    /// thus costs nothing.
    due: BinaryHeap<Reverse<(i64, u32)>>,
    /// The time at which each session stands in `due`; `CLOSED` if there is no such session.
    queued: Vec<i64>,
}

/// What `queued` is of a slot without a session.
const CLOSED: i64 = i64::MIN;

/// The session that a row belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed {
    /// The session's slot.
    pub slot: u32,
    /// A session that the row has joined to it. Its slot must be cleared before it is used again,
    /// which may be for the next row.
    pub absorbed: Option<u32>,
}

impl Sessions {
    pub(super) fn try_new(gap: i64, key_fields: Vec<Field>) -> Result<Self> {
        let types: Vec<_> = key_fields.iter().map(|field| field.data_type().clone()).collect();
        Ok(Sessions {
            gap,
            key_fields,
            keys: KeyInterner::try_new(&types)?,
            first: vec![],
            windows: vec![],
            key_of: vec![],
            next: vec![],
            free: vec![],
            due: BinaryHeap::new(),
            queued: vec![],
        })
    }

    /// The slots of keys. Each must get a session by [`Sessions::place`] or be given back by
    /// [`Sessions::forget_unused`].
    pub(super) fn intern(&mut self, keys: &[ArrayRef], rows: usize) -> Result<Vec<u32>> {
        let mut slots = vec![];
        self.keys.intern(keys, rows, &mut slots)?;
        self.first.resize(self.keys.slots(), NONE);
        Ok(slots)
    }

    /// Puts a row of a key into its session, which may join two. `None`: it joins no open session,
    /// and the one it would start is over already, as `is_over` tells of the end of a window.
    pub(super) fn place(&mut self, key: u32, time: i64, is_over: impl Fn(i64) -> bool) -> Option<Placed> {
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
                if is_over(window.end) {
                    return None;
                }
                Placed { slot: self.open(key, window), absorbed: None }
            }
            [one, NONE] => Placed { slot: one, absorbed: None },
            [one, other] => {
                let (early, late) = match self.windows[one as usize] < self.windows[other as usize] {
                    true => (one, other),
                    false => (other, one),
                };
                window.start = window.start.min(self.windows[early as usize].start);
                self.unlink(early);
                Placed { slot: late, absorbed: Some(early) }
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
            self.queued.push(CLOSED);
            (self.windows.len() - 1) as u32
        });
        let place = slot as usize;
        self.windows[place] = window;
        self.key_of[place] = key;
        self.next[place] = self.first[key as usize];
        self.first[key as usize] = slot;
        self.queued[place] = window.end;
        self.due.push(Reverse((window.end, slot)));
        slot
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
        self.queued[slot as usize] = CLOSED;
        self.free.push(slot);
    }

    /// The sessions that are over, in the order of their ends. They are open until
    /// [`Sessions::close`].
    pub(super) fn over(&mut self, is_over: impl Fn(i64) -> bool) -> Vec<u32> {
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
                // not to be found again under the same time
                *queued = CLOSED;
                over.push(slot);
            } else {
                *queued = end;
                self.due.push(Reverse((end, slot)));
            }
        }
        over.sort_by_key(|slot| self.windows[*slot as usize].end);
        over
    }

    /// A time, not after the end of any session, before which none is over.
    pub(super) fn next_end(&self) -> Option<i64> {
        self.due.peek().map(|Reverse((time, _))| *time)
    }

    /// Ends sessions and frees their slots, and those of keys that have no other.
    pub(super) fn close(&mut self, slots: &[u32]) {
        for slot in slots {
            self.unlink(*slot);
        }
        let keys: Vec<u32> = slots.iter().map(|slot| self.key_of[*slot as usize]).collect();
        self.forget_unused(keys);
    }

    /// Gives back the slots of keys that have no session.
    pub(super) fn forget_unused(&mut self, mut keys: Vec<u32>) {
        keys.retain(|key| self.first[*key as usize] == NONE);
        keys.sort_unstable();
        keys.dedup();
        self.keys.release(&keys);
    }

    /// The number of slots in existence.
    pub(super) fn slots(&self) -> usize {
        self.windows.len()
    }

    /// The window of a session.
    pub(super) fn window(&self, slot: u32) -> TimeWindow {
        self.windows[slot as usize]
    }

    /// The keys of sessions.
    pub(super) fn keys(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let keys: Vec<u32> = slots.iter().map(|slot| self.key_of[*slot as usize]).collect();
        self.keys.columns(&keys)
    }

    /// The open sessions.
    pub(super) fn live(&self) -> Vec<u32> {
        (0..self.slots() as u32).filter(|slot| self.queued[*slot as usize] != CLOSED).collect()
    }

    /// The key groups, keys, starts and ends of sessions, as columns of a snapshot.
    pub(super) fn snapshot(&self, slots: &[u32]) -> Result<(Vec<Field>, Vec<ArrayRef>)> {
        let keys = self.keys(slots)?;
        let groups = key_groups(&keys, slots.len())?;
        let mut fields = vec![Field::new("key_group", DataType::UInt16, false)];
        let mut columns: Vec<ArrayRef> = vec![Arc::new(UInt16Array::from(groups))];
        fields.extend(self.key_fields.iter().cloned());
        columns.extend(keys);
        let mut add = |name: &str, value: fn(TimeWindow) -> i64| {
            fields.push(Field::new(name, DataType::Int64, false));
            let values = slots.iter().map(|slot| value(self.window(*slot)));
            columns.push(Arc::new(Int64Array::from_iter_values(values)));
        };
        add("$start", |window| window.start);
        add("$end", |window| window.end);
        Ok((fields, columns))
    }

    /// Opens the sessions of a snapshot, given without its key groups; returns their slots and the
    /// columns that follow.
    pub(super) fn restore<'a>(&mut self, rows: &'a RecordBatch) -> Result<(Vec<u32>, &'a [ArrayRef])> {
        let Some((keys, [starts, ends, rest @ ..])) = rows.columns().split_at_checked(self.key_fields.len())
        else {
            return internal_err!("the snapshot of sessions lacks its keys or windows");
        };
        let keys = self.intern(keys, rows.num_rows())?;
        let starts = starts.as_primitive::<Int64Type>().values();
        let ends = ends.as_primitive::<Int64Type>().values();
        let open = |(key, (start, end)): (&u32, (&i64, &i64))| {
            self.open(*key, TimeWindow { start: *start, end: *end })
        };
        let slots = keys.iter().zip(starts.iter().zip(ends)).map(open).collect();
        Ok((slots, rest))
    }

    /// Bytes held, by capacity.
    pub(super) fn memory_size(&self) -> usize {
        let words =
            self.first.capacity() + self.key_of.capacity() + self.next.capacity() + self.free.capacity();
        self.keys.memory_size()
            + words * size_of::<u32>()
            + self.windows.capacity() * size_of::<TimeWindow>()
            + self.queued.capacity() * size_of::<i64>()
            + self.due.capacity() * size_of::<(i64, u32)>()
    }
}
