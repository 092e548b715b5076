//! One row a key.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion_common::Result;

use crate::runtime::TableSnapshot;
use crate::state::{
    Evictable, KeyInterner, RowId, RowStore, StateTable, distinct_where, keyed_snapshot, split_extra,
};

const NONE: RowId = RowId::MAX;

/// The last row of each key.
pub(super) struct KeyedRows {
    keys: Vec<usize>,
    interner: KeyInterner,
    pub store: RowStore,
    /// By key slot.
    last: Vec<RowId>,
}

impl KeyedRows {
    pub(super) fn try_new(schema: SchemaRef, keys: Vec<usize>) -> Result<Self> {
        let key_types: Vec<_> = keys.iter().map(|key| schema.field(*key).data_type().clone()).collect();
        Ok(KeyedRows {
            keys,
            interner: KeyInterner::try_new(&key_types)?,
            store: RowStore::new(schema),
            last: vec![],
        })
    }

    /// The slots of the rows' keys.
    pub(super) fn intern(&mut self, batch: &RecordBatch) -> Result<Vec<u32>> {
        let keys: Vec<ArrayRef> = self.keys.iter().map(|key| Arc::clone(batch.column(*key))).collect();
        let mut slots = vec![];
        self.interner.intern(&keys, batch.num_rows(), &mut slots)?;
        self.last.resize(self.interner.slots(), NONE);
        Ok(slots)
    }

    pub(super) fn get(&self, slot: u32) -> Option<RowId> {
        let id = self.last[slot as usize];
        (id != NONE).then_some(id)
    }

    /// Makes a row of the open batch the last of a key.
    pub(super) fn set(&mut self, slot: u32, row: usize) {
        self.clear(slot);
        self.last[slot as usize] = self.store.add(row);
    }

    pub(super) fn clear(&mut self, slot: u32) {
        let id = std::mem::replace(&mut self.last[slot as usize], NONE);
        if id != NONE {
            self.store.remove(id);
        }
    }

    /// Ends work on the batch: frees the rows that were replaced, and those of `slots` that have none.
    pub(super) fn forget(&mut self, slots: Vec<u32>) -> Result<()> {
        self.interner.release(&distinct_where(slots, |slot| self.last[slot as usize] == NONE));
        self.store.close()
    }
}

impl StateTable for KeyedRows {
    fn name(&self) -> &str {
        "rows"
    }

    fn memory_size(&self) -> usize {
        self.interner.memory_size() + self.store.memory_size() + self.last.capacity() * size_of::<RowId>()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        keyed_snapshot(self.name(), &self.keys, &self.store.rows(&self.store.live())?, vec![])
    }

    fn restore(&mut self, saved: &RecordBatch) -> Result<()> {
        let (batch, _) = split_extra(saved, self.store.schema(), 0)?;
        let slots = self.intern(&batch)?;
        self.store.open(&batch);
        for (row, slot) in slots.into_iter().enumerate() {
            self.set(slot, row);
        }
        self.store.close()
    }

    fn evictable(&self) -> Option<Evictable> {
        Some(Evictable { keys: self.keys.clone(), ttl: 0 })
    }
}
