//! Rows of the left side that wait for the watermark.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, UInt8Array, UInt16Array};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef, UInt8Type};
use datafusion_common::{Result, internal_err};

use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::join::side::JoinKeys;
use crate::runtime::TableSnapshot;
use crate::state::key_group::key_groups;
use crate::state::{Due, Evictable, RowArena, StateTable};
use crate::time::millis_of;

/// Rows in the order of their times, which come out in the order in which they came in.
pub(super) struct Waiting {
    schema: SchemaRef,
    keys: Vec<usize>,
    time: usize,
    rows: RowArena,
    /// By row: its place in the order of arrival, its kind, the slot of its key.
    arrivals: Vec<i64>,
    kinds: Vec<RowKind>,
    slots: Vec<u32>,
    next_arrival: i64,
    due: BinaryHeap<Reverse<(i64, u32)>>,
    /// By key slot: the number of rows that wait.
    counts: Vec<u32>,
    unlinked: Vec<u32>,
}

/// The first column of the rows in a snapshot, behind their order and kinds.
const FIRST_COLUMN: usize = 2;

/// Rows that have waited long enough.
pub(super) struct Released {
    pub columns: Vec<ArrayRef>,
    pub times: Vec<i64>,
    pub kinds: Vec<RowKind>,
    pub slots: Vec<u32>,
}

impl Waiting {
    pub(super) fn try_new(schema: SchemaRef, keys: Vec<usize>, time: usize) -> Result<Self> {
        let types: Vec<_> = schema.fields().iter().map(|field| field.data_type().clone()).collect();
        Ok(Waiting {
            schema,
            keys,
            time,
            rows: RowArena::try_new(&types)?,
            arrivals: vec![],
            kinds: vec![],
            slots: vec![],
            next_arrival: 0,
            due: BinaryHeap::new(),
            counts: vec![],
            unlinked: vec![],
        })
    }

    fn key_columns(&self, columns: &[ArrayRef]) -> Vec<ArrayRef> {
        self.keys.iter().map(|key| Arc::clone(&columns[*key])).collect()
    }

    pub(super) fn link_restored(&mut self, keys: &mut JoinKeys) -> Result<()> {
        if self.unlinked.is_empty() {
            return Ok(());
        }
        let ids = std::mem::take(&mut self.unlinked);
        let columns = self.rows.columns(&ids)?;
        let slots = keys.slots_of(&self.key_columns(&columns), ids.len())?;
        self.grow(keys.slots());
        for (id, slot) in ids.iter().zip(slots) {
            self.slots[*id as usize] = slot;
            self.counts[slot as usize] += 1;
        }
        Ok(())
    }

    fn grow(&mut self, slots: usize) {
        if self.counts.len() < slots {
            self.counts.resize(slots, 0);
        }
    }

    pub(super) fn has_rows(&self, slot: u32) -> bool {
        self.counts.get(slot as usize).is_some_and(|count| *count > 0)
    }

    pub(super) fn add(&mut self, changes: &ChangelogBatch, keys: &mut JoinKeys) -> Result<()> {
        let columns = changes.batch().columns();
        let slots = keys.slots_of(&self.key_columns(columns), changes.num_rows())?;
        self.grow(keys.slots());
        let times = millis_of(&columns[self.time])?;
        let encoded = self.rows.encode(columns)?;
        for (row, slot) in slots.into_iter().enumerate() {
            let arrival = self.next_arrival;
            self.insert(encoded.get(row), times[row], arrival, changes.kind(row), slot)?;
            self.counts[slot as usize] += 1;
        }
        Ok(())
    }

    fn insert(&mut self, row: &[u8], time: i64, arrival: i64, kind: RowKind, slot: u32) -> Result<u32> {
        let id = self.rows.insert(row)?;
        let ids = self.rows.ids();
        self.arrivals.resize(ids, 0);
        self.kinds.resize(ids, RowKind::Insert);
        self.slots.resize(ids, 0);
        self.arrivals[id as usize] = arrival;
        self.kinds[id as usize] = kind;
        self.slots[id as usize] = slot;
        self.next_arrival = self.next_arrival.max(arrival + 1);
        self.due.push(Reverse((time, id)));
        Ok(id)
    }

    /// Takes out the rows whose time is not after `time`.
    pub(super) fn release(&mut self, time: i64) -> Result<Option<Released>> {
        let mut due = vec![];
        while let Some(Reverse((due_time, id))) = self.due.peek().copied() {
            if due_time > time {
                break;
            }
            self.due.pop();
            due.push((self.arrivals[id as usize], id, due_time));
        }
        if due.is_empty() {
            return Ok(None);
        }
        due.sort_unstable();
        let ids: Vec<u32> = due.iter().map(|(_, id, _)| *id).collect();
        let released = Released {
            columns: self.rows.columns(&ids)?,
            times: due.iter().map(|(_, _, time)| *time).collect(),
            kinds: ids.iter().map(|id| self.kinds[*id as usize]).collect(),
            slots: ids.iter().map(|id| self.slots[*id as usize]).collect(),
        };
        for (id, slot) in ids.iter().zip(&released.slots) {
            self.rows.remove(*id);
            self.counts[*slot as usize] -= 1;
        }
        Ok(Some(released))
    }
}

impl StateTable for Waiting {
    fn name(&self) -> &str {
        "left"
    }

    fn memory_size(&self) -> usize {
        self.rows.memory_size()
            + self.arrivals.capacity() * size_of::<i64>()
            + self.kinds.capacity()
            + (self.slots.capacity() + self.counts.capacity()) * size_of::<u32>()
            + self.due.capacity() * size_of::<(i64, u32)>()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let live = self.rows.live();
        let columns = self.rows.columns(&live)?;
        let groups = key_groups(&self.key_columns(&columns), live.len())?;
        let mut fields = vec![
            Arc::new(Field::new("key_group", DataType::UInt16, false)),
            Arc::new(Field::new("$arrival", DataType::Int64, false)),
            Arc::new(Field::new("$kind", DataType::UInt8, false)),
        ];
        let mut saved: Vec<ArrayRef> = vec![
            Arc::new(UInt16Array::from(groups)),
            Arc::new(Int64Array::from_iter_values(live.iter().map(|id| self.arrivals[*id as usize]))),
            Arc::new(UInt8Array::from_iter_values(live.iter().map(|id| self.kinds[*id as usize] as u8))),
        ];
        fields.extend(self.schema.fields().iter().cloned());
        saved.extend(columns);
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), saved)?;
        Ok(TableSnapshot { name: self.name().to_string(), keyed: true, rows })
    }

    fn restore(&mut self, rows: &RecordBatch) -> Result<()> {
        let [arrivals, kinds, columns @ ..] = rows.columns() else {
            return internal_err!("the snapshot of waiting rows lacks their order");
        };
        let arrivals = arrivals.as_primitive::<Int64Type>().values();
        let kinds = kinds.as_primitive::<UInt8Type>().values();
        let times = millis_of(&columns[self.time])?;
        let encoded = self.rows.encode(columns)?;
        for row in 0..rows.num_rows() {
            let kind = RowKind::from_u8(kinds[row]).unwrap_or(RowKind::Insert);
            let id = self.insert(encoded.get(row), times[row], arrivals[row], kind, 0)?;
            self.unlinked.push(id);
        }
        Ok(())
    }

    fn evictable(&self) -> Option<Evictable> {
        Some(Evictable { keys: self.keys.iter().map(|key| FIRST_COLUMN + key).collect(), ttl: 0 })
    }

    fn due(&self, rows: &RecordBatch, _watermark: i64) -> Result<Due> {
        Ok(Due::at_watermarks(millis_of(rows.column(FIRST_COLUMN + self.time))?.into_owned()))
    }
}
