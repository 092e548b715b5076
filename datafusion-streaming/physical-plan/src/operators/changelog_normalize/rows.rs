//! One row a key.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt16Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion_common::Result;

use crate::runtime::TableSnapshot;
use crate::state::key_group::key_groups;
use crate::state::{EncodedRows, Evictable, KeyInterner, RowArena, StateTable};

const NONE: u32 = u32::MAX;

/// The last row of each key. Rows that are replaced or dropped stay readable until
/// [`KeyedRows::forget`].
pub(super) struct KeyedRows {
    schema: SchemaRef,
    keys: Vec<usize>,
    interner: KeyInterner,
    rows: RowArena,
    /// By key slot.
    last: Vec<u32>,
    replaced: Vec<u32>,
}

impl KeyedRows {
    pub(super) fn try_new(schema: SchemaRef, keys: Vec<usize>) -> Result<Self> {
        let types: Vec<_> = schema.fields().iter().map(|field| field.data_type().clone()).collect();
        let key_types: Vec<_> = keys.iter().map(|key| types[*key].clone()).collect();
        Ok(KeyedRows {
            schema,
            keys,
            interner: KeyInterner::try_new(&key_types)?,
            rows: RowArena::try_new(&types)?,
            last: vec![],
            replaced: vec![],
        })
    }

    fn key_columns(&self, columns: &[ArrayRef]) -> Vec<ArrayRef> {
        self.keys.iter().map(|key| Arc::clone(&columns[*key])).collect()
    }

    pub(super) fn intern(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Vec<u32>> {
        let mut slots = vec![];
        self.interner.intern(&self.key_columns(columns), rows, &mut slots)?;
        self.last.resize(self.interner.slots(), NONE);
        Ok(slots)
    }

    pub(super) fn encode(&self, columns: &[ArrayRef]) -> Result<EncodedRows> {
        self.rows.encode(columns)
    }

    pub(super) fn get(&self, slot: u32) -> Option<u32> {
        let id = self.last[slot as usize];
        (id != NONE).then_some(id)
    }

    pub(super) fn equals(&self, id: u32, row: &[u8]) -> bool {
        self.rows.get(id) == row
    }

    pub(super) fn set(&mut self, slot: u32, row: &[u8]) -> Result<()> {
        self.clear(slot);
        self.last[slot as usize] = self.rows.insert(row)?;
        Ok(())
    }

    pub(super) fn clear(&mut self, slot: u32) {
        let id = std::mem::replace(&mut self.last[slot as usize], NONE);
        if id != NONE {
            self.replaced.push(id);
        }
    }

    pub(super) fn columns(&self, ids: &[u32]) -> Result<Vec<ArrayRef>> {
        self.rows.columns(ids)
    }

    /// Frees the rows that were replaced, and those of `slots` that have none.
    pub(super) fn forget(&mut self, mut slots: Vec<u32>) {
        for id in self.replaced.drain(..) {
            self.rows.remove(id);
        }
        slots.sort_unstable();
        slots.dedup();
        slots.retain(|slot| self.last[*slot as usize] == NONE);
        self.interner.release(&slots);
    }
}

impl StateTable for KeyedRows {
    fn name(&self) -> &str {
        "rows"
    }

    fn memory_size(&self) -> usize {
        self.interner.memory_size() + self.rows.memory_size() + self.last.capacity() * size_of::<u32>()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let live = self.rows.live();
        let columns = self.rows.columns(&live)?;
        let groups = key_groups(&self.key_columns(&columns), live.len())?;
        let mut fields = vec![Arc::new(Field::new("key_group", DataType::UInt16, false))];
        let mut saved: Vec<ArrayRef> = vec![Arc::new(UInt16Array::from(groups))];
        fields.extend(self.schema.fields().iter().cloned());
        saved.extend(columns);
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), saved)?;
        Ok(TableSnapshot { name: self.name().to_string(), keyed: true, rows })
    }

    fn restore(&mut self, rows: &RecordBatch) -> Result<()> {
        let slots = self.intern(rows.columns(), rows.num_rows())?;
        let encoded = self.encode(rows.columns())?;
        for (row, slot) in slots.iter().enumerate() {
            self.set(*slot, encoded.get(row))?;
        }
        Ok(())
    }

    fn evictable(&self) -> Option<Evictable> {
        Some(Evictable { keys: self.keys.clone(), ttl: 0 })
    }
}
