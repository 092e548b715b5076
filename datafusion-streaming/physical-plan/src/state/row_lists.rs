//! Rows in lists by key.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion_common::Result;

use super::{EncodedRows, Evictable, KeyInterner, RowArena, StateTable, distinct_where, keyed_snapshot};
use crate::runtime::TableSnapshot;

/// Of each key the rows that there are, in the order in which they came.
pub struct RowLists {
    schema: SchemaRef,
    keys: Vec<usize>,
    interner: KeyInterner,
    rows: RowArena,
    /// By key slot.
    lists: Vec<Vec<u32>>,
    /// Rows that are in no list any more and can still be read.
    removed: Vec<u32>,
}

impl RowLists {
    /// Lists of rows of `schema` by the columns `keys`.
    pub fn try_new(schema: SchemaRef, keys: Vec<usize>) -> Result<Self> {
        let types: Vec<_> = schema.fields().iter().map(|field| field.data_type().clone()).collect();
        let key_types: Vec<_> = keys.iter().map(|key| types[*key].clone()).collect();
        Ok(RowLists {
            schema,
            keys,
            interner: KeyInterner::try_new(&key_types)?,
            rows: RowArena::try_new(&types)?,
            lists: vec![],
            removed: vec![],
        })
    }

    /// The slot of each row's key.
    pub fn intern(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Vec<u32>> {
        let keys: Vec<_> = self.keys.iter().map(|key| Arc::clone(&columns[*key])).collect();
        let mut slots = vec![];
        self.interner.intern(&keys, rows, &mut slots)?;
        self.lists.resize_with(self.interner.slots(), Vec::new);
        Ok(slots)
    }

    /// The rows of a batch as they are kept.
    pub fn encode(&self, columns: &[ArrayRef]) -> Result<EncodedRows> {
        self.rows.encode(columns)
    }

    /// The rows of a key.
    pub fn list(&self, slot: u32) -> &[u32] {
        &self.lists[slot as usize]
    }

    /// The lists of all keys.
    pub fn lists(&self) -> impl Iterator<Item = &[u32]> {
        self.lists.iter().map(Vec::as_slice)
    }

    /// The slots are below this.
    pub fn slots(&self) -> usize {
        self.lists.len()
    }

    /// Adds a row behind the others of its key. Its id may be one that another row had until
    /// [`RowLists::forget`].
    pub fn push(&mut self, slot: u32, row: &[u8]) -> Result<u32> {
        let id = self.rows.insert(row)?;
        self.lists[slot as usize].push(id);
        Ok(id)
    }

    /// The place in its list of the last row with this content.
    pub fn place_of(&self, slot: u32, row: &[u8]) -> Option<usize> {
        self.place_where(slot, row, |_| true)
    }

    /// The place in its list of the last row with this content whose id is one that `accepts` takes.
    pub fn place_where(&self, slot: u32, row: &[u8], accepts: impl Fn(u32) -> bool) -> Option<usize> {
        self.lists[slot as usize].iter().rposition(|id| accepts(*id) && self.rows.get(*id) == row)
    }

    /// Takes out a row, which can be read until [`RowLists::forget`].
    pub fn remove(&mut self, slot: u32, place: usize) {
        self.removed.push(self.lists[slot as usize].remove(place));
    }

    /// Takes out all rows of a key.
    pub fn clear(&mut self, slot: u32) {
        self.removed.append(&mut self.lists[slot as usize]);
    }

    /// The rows of these ids, as columns.
    pub fn columns(&self, ids: &[u32]) -> Result<Vec<ArrayRef>> {
        self.rows.columns(ids)
    }

    /// Frees the rows that were taken out, and those of `slots` that have no rows.
    pub fn forget(&mut self, slots: Vec<u32>) {
        for id in self.removed.drain(..) {
            self.rows.remove(id);
        }
        self.interner.release(&distinct_where(slots, |slot| self.lists[slot as usize].is_empty()));
    }
}

impl StateTable for RowLists {
    fn name(&self) -> &str {
        "rows"
    }

    fn memory_size(&self) -> usize {
        let lists = self.lists.capacity() * size_of::<Vec<u32>>() + self.rows.len() * size_of::<u32>();
        self.interner.memory_size() + self.rows.memory_size() + lists
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let ids: Vec<u32> = self.lists.iter().flatten().copied().collect();
        let options = RecordBatchOptions::new().with_row_count(Some(ids.len()));
        let columns = self.rows.columns(&ids)?;
        let rows = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        keyed_snapshot(self.name(), &self.keys, &rows, vec![])
    }

    fn restore(&mut self, rows: &RecordBatch) -> Result<()> {
        let slots = self.intern(rows.columns(), rows.num_rows())?;
        let encoded = self.encode(rows.columns())?;
        slots.iter().enumerate().try_for_each(|(row, slot)| self.push(*slot, encoded.get(row)).map(drop))
    }

    fn evictable(&self) -> Option<Evictable> {
        Some(Evictable { keys: self.keys.clone(), ttl: 0 })
    }
}
