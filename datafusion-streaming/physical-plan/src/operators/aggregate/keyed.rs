//! Aggregates by key, as a state table.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, UInt16Array};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion_common::{Result, internal_err};

use super::Aggregates;
use crate::runtime::TableSnapshot;
use crate::state::key_group::key_groups;
use crate::state::{Evictable, KeyInterner, StateTable, distinct_where};

/// Keys, the number of rows of each, and their aggregates: columns indexed by slot.
#[derive(Debug)]
pub struct KeyedAggregates {
    /// The keys.
    pub keys: KeyInterner,
    /// Rows less retractions of each slot; 0: the group does not live. Kept only where groups can
    /// end or expire.
    pub counts: Option<Vec<i64>>,
    /// The time of the last write to each slot, in milliseconds of processing time. Kept only with
    /// a state TTL.
    pub written: Option<Vec<i64>>,
    /// The states of the calls.
    pub aggregates: Aggregates,
    key_fields: Vec<Field>,
    /// How many of the key columns, from the first on, decide the key group.
    group_by: usize,
    /// The time to live in milliseconds; 0: for ever.
    ttl: i64,
}

impl KeyedAggregates {
    /// An empty table for keys of these fields, whose first `group_by` columns decide the key group. State
    /// lives for `ttl` milliseconds; 0: for ever.
    pub fn try_new(
        key_fields: Vec<Field>,
        group_by: usize,
        aggregates: Aggregates,
        counted: bool,
        ttl: i64,
    ) -> Result<Self> {
        Ok(KeyedAggregates {
            keys: KeyInterner::try_new(&types_of(&key_fields))?,
            counts: counted.then(Vec::new),
            written: (ttl > 0).then(Vec::new),
            aggregates,
            key_fields,
            group_by,
            ttl,
        })
    }

    /// An empty table for keys of these fields by window, whose end is the last of the fields: a timestamp
    /// in milliseconds. Groups are counted.
    pub fn of_windows(key_fields: Vec<Field>, aggregates: Aggregates) -> Result<Self> {
        let types = types_of(&key_fields);
        let group_by = types.len().saturating_sub(1);
        Ok(KeyedAggregates {
            keys: KeyInterner::of_windows(&types[..group_by])?,
            counts: Some(vec![]),
            written: None,
            aggregates,
            key_fields,
            group_by,
            ttl: 0,
        })
    }

    /// The slot of each row's key; makes room for new ones.
    pub fn intern(&mut self, keys: &[ArrayRef], rows: usize) -> Result<Vec<u32>> {
        let mut slots = vec![];
        self.keys.intern(keys, rows, &mut slots)?;
        self.grow();
        Ok(slots)
    }

    /// The slots of the keys of `slots` in the window that ends at `end`; makes room for new ones.
    pub fn in_window(&mut self, slots: &[u32], end: i64) -> Result<Vec<u32>> {
        let slots = self.keys.in_window(slots, end)?;
        self.grow();
        Ok(slots)
    }

    fn grow(&mut self) {
        let room = self.keys.slots();
        self.aggregates.grow(room);
        for column in [&mut self.counts, &mut self.written].into_iter().flatten() {
            column.resize(room, 0);
        }
    }

    /// Gives slots, whose state is clear, to other keys.
    pub fn release(&mut self, slots: &[u32]) {
        if let Some(counts) = &mut self.counts {
            for slot in slots {
                counts[*slot as usize] = 0;
            }
        }
        self.keys.release(slots);
    }

    /// Partial aggregates of groups, for the second of two phases: their keys, the number of rows that
    /// `rows` has for each, and their states.
    pub fn partial_columns(&self, slots: &[u32], rows: impl Fn(u32) -> i64) -> Result<Vec<ArrayRef>> {
        let mut columns = self.keys.columns(slots)?;
        columns.push(Arc::new(Int64Array::from_iter_values(slots.iter().map(|slot| rows(*slot)))));
        columns.extend(self.aggregates.partial(slots)?);
        Ok(columns)
    }

    /// Clears the groups of these slots whose time to live, in milliseconds, is over: they read as
    /// absent. The slots stay theirs. Without times nothing happens.
    pub fn forget_expired(&mut self, slots: &[u32], ttl: i64, now: i64) {
        let (Some(counts), Some(written)) = (&mut self.counts, &mut self.written) else {
            return;
        };
        let expired = distinct_where(slots.iter().copied(), |slot| {
            counts[slot as usize] != 0 && written[slot as usize].saturating_add(ttl) <= now
        });
        for slot in &expired {
            counts[*slot as usize] = 0;
        }
        if !expired.is_empty() {
            self.aggregates.clear(&expired);
        }
    }

    /// Gives back the memory of all groups and distinct values whose time to live is over; whether
    /// any group is left.
    pub fn sweep(&mut self, ttl: i64, now: i64) -> bool {
        let live = self.live_slots();
        self.forget_expired(&live, ttl, now);
        let still = self.live_slots();
        let expired: Vec<u32> = live.into_iter().filter(|slot| still.binary_search(slot).is_err()).collect();
        self.release(&expired);
        self.aggregates.set_time(now);
        self.aggregates.sweep();
        !still.is_empty()
    }

    /// The slots of groups that live.
    pub fn live_slots(&self) -> Vec<u32> {
        let mut live = self.keys.live_slots();
        if let Some(counts) = &self.counts {
            live.retain(|slot| counts.get(*slot as usize).is_some_and(|count| *count != 0));
        }
        live
    }
}

fn types_of(fields: &[Field]) -> Vec<DataType> {
    fields.iter().map(|field| field.data_type().clone()).collect()
}

impl StateTable for KeyedAggregates {
    fn name(&self) -> &str {
        "aggregates"
    }

    fn memory_size(&self) -> usize {
        let columns = [&self.counts, &self.written].into_iter().flatten();
        self.keys.memory_size()
            + columns.map(|column| column.capacity() * size_of::<i64>()).sum::<usize>()
            + self.aggregates.memory_size()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let live = self.live_slots();
        let keys = self.keys.columns(&live)?;
        let groups = key_groups(&keys[..self.group_by], live.len())?;
        let mut fields = vec![Field::new("key_group", DataType::UInt16, false)];
        let mut columns: Vec<ArrayRef> = vec![Arc::new(UInt16Array::from(groups))];
        fields.extend(self.key_fields.iter().cloned());
        columns.extend(keys);
        for (name, column) in [("$rows", &self.counts), ("$written", &self.written)] {
            let Some(column) = column else { continue };
            fields.push(Field::new(name, DataType::Int64, false));
            columns
                .push(Arc::new(Int64Array::from_iter_values(live.iter().map(|slot| column[*slot as usize]))));
        }
        for (field, column) in self.aggregates.snapshot(&live)? {
            fields.push(field);
            columns.push(column);
        }
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        Ok(TableSnapshot { name: self.name().to_string(), keyed: true, rows })
    }

    fn restore(&mut self, rows: &RecordBatch) -> Result<()> {
        let Some((keys, mut rest)) = rows.columns().split_at_checked(self.key_fields.len()) else {
            return internal_err!("the snapshot of aggregates lacks its keys");
        };
        let slots = self.intern(keys, rows.num_rows())?;
        for column in [&mut self.counts, &mut self.written].into_iter().flatten() {
            let Some((saved, others)) = rest.split_first() else {
                return internal_err!("the snapshot of aggregates lacks its row counts or times");
            };
            for (slot, value) in slots.iter().zip(saved.as_primitive::<Int64Type>().values()) {
                column[*slot as usize] = *value;
            }
            rest = others;
        }
        self.aggregates.restore(&slots, rest)
    }

    fn evictable(&self) -> Option<Evictable> {
        Some(Evictable { keys: (0..self.group_by).collect(), ttl: self.ttl })
    }
}
