//! One row a key.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion_common::Result;

use super::{KeyInterner, Place, RowId, RowStore, distinct_where};

const NONE: RowId = RowId::MAX;

/// The last row of each key. Work on a batch begins with [`RowStore::open`] and ends with
/// [`LastRows::forget`]; until then a row that another has replaced can be read at its place.
#[derive(Debug)]
pub struct LastRows {
    /// The key columns.
    pub keys: Vec<usize>,
    /// The rows.
    pub store: RowStore,
    interner: KeyInterner,
    /// By key slot.
    last: Vec<RowId>,
}

impl LastRows {
    /// No rows, of this schema, by the columns `keys`; an error for keys that cannot be compared.
    pub fn try_new(schema: SchemaRef, keys: Vec<usize>) -> Result<Self> {
        let types: Vec<_> = keys.iter().map(|key| schema.field(*key).data_type().clone()).collect();
        Ok(LastRows {
            keys,
            store: RowStore::new(schema),
            interner: KeyInterner::try_new(&types)?,
            last: vec![],
        })
    }

    /// The slots of the rows' keys.
    pub fn intern(&mut self, batch: &RecordBatch) -> Result<Vec<u32>> {
        let keys: Vec<ArrayRef> = self.keys.iter().map(|key| Arc::clone(batch.column(*key))).collect();
        let mut slots = vec![];
        self.interner.intern(&keys, batch.num_rows(), &mut slots)?;
        self.last.resize(self.interner.slots(), NONE);
        Ok(slots)
    }

    /// The number of slots in existence: columns indexed by slot are this long.
    pub fn slots(&self) -> usize {
        self.last.len()
    }

    /// The slots of the keys that have a row, ascending.
    pub fn live_slots(&self) -> Vec<u32> {
        (0..self.last.len() as u32).filter(|slot| self.last[*slot as usize] != NONE).collect()
    }

    /// The rows of these keys, each of which has one.
    pub fn rows(&self, slots: &[u32]) -> Result<RecordBatch> {
        let ids: Vec<RowId> = slots.iter().map(|slot| self.last[*slot as usize]).collect();
        self.store.rows(&ids)
    }

    /// Where the row of a key is, if it has one.
    #[inline]
    pub fn place(&self, slot: u32) -> Option<Place> {
        let id = self.last[slot as usize];
        (id != NONE).then(|| self.store.place(id))
    }

    /// Makes a row of the open batch the last of a key.
    #[inline]
    pub fn set(&mut self, slot: u32, row: usize) {
        self.clear(slot);
        self.last[slot as usize] = self.store.add(row);
    }

    /// Takes the row of a key away, if it has one.
    #[inline]
    pub fn clear(&mut self, slot: u32) {
        let id = std::mem::replace(&mut self.last[slot as usize], NONE);
        if id != NONE {
            self.store.remove(id);
        }
    }

    /// Ends work on the batch: frees the rows that are gone, and those of `slots` that have none.
    pub fn forget(&mut self, slots: impl IntoIterator<Item = u32>) -> Result<()> {
        self.interner.release(&distinct_where(slots, |slot| self.last[slot as usize] == NONE));
        self.store.close()
    }

    /// Bytes held.
    pub fn memory_size(&self) -> usize {
        self.interner.memory_size() + self.store.memory_size() + self.last.capacity() * size_of::<RowId>()
    }
}
