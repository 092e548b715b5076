//! The content of the rows of a join side.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion_common::{Result, internal_err};

use super::row_bytes;
use crate::state::{EncodedRows, RowArena, RowIndex, RowStore};

/// Rows with ids. Rows are added from the batch that is open.
///
/// Rows that are found by their content are kept as bytes: they are looked for among those of the same key,
/// as long as these are few, else in an index of all rows. Other rows stay in the batches that they came in,
/// without being copied.
pub(super) enum SideRows {
    Found { arena: RowArena, index: Option<RowIndex>, open: Option<EncodedRows> },
    Shared { store: RowStore, row_bytes: usize },
}

/// From a key with more rows than these on, rows are found by an index.
const FEW_ROWS: usize = 8;

impl SideRows {
    pub(super) fn try_new(schema: &SchemaRef, found: bool) -> Result<Self> {
        let types: Vec<_> = schema.fields().iter().map(|field| field.data_type().clone()).collect();
        Ok(match found {
            true => SideRows::Found { arena: RowArena::try_new(&types)?, index: None, open: None },
            false => SideRows::Shared { store: RowStore::new(schema.clone()), row_bytes: 0 },
        })
    }

    /// Starts work on a batch: rows of it can be added until [`SideRows::close`].
    pub(super) fn open(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            SideRows::Found { arena, open, .. } => *open = Some(arena.encode(batch.columns())?),
            SideRows::Shared { store, row_bytes: bytes } => {
                *bytes = row_bytes(batch.columns(), batch.num_rows());
                store.open(batch);
            }
        }
        Ok(())
    }

    /// Ends work on the batch, and frees the memory of rows that are gone.
    pub(super) fn close(&mut self) -> Result<()> {
        match self {
            SideRows::Found { open, .. } => *open = None,
            SideRows::Shared { store, .. } => store.close()?,
        }
        Ok(())
    }

    /// Keeps a row of the open batch; returns its id.
    pub(super) fn add(&mut self, row: usize) -> Result<u32> {
        match self {
            SideRows::Found { arena, index, open } => {
                let Some(open) = open else { return internal_err!("a row without its batch") };
                let id = arena.insert(open.get(row))?;
                if let Some(index) = index {
                    index.insert(id, arena);
                }
                Ok(id)
            }
            SideRows::Shared { store, .. } => Ok(store.add(row)),
        }
    }

    /// Keeps rows of the open batch; returns their ids.
    pub(super) fn add_all(&mut self, rows: &[u32]) -> Result<Vec<u32>> {
        match self {
            SideRows::Found { .. } => rows.iter().map(|row| self.add(*row as usize)).collect(),
            SideRows::Shared { store, .. } => Ok(store.add_all(rows)),
        }
    }

    /// The row that is equal to one of the open batch; `of_key` are the rows of its key.
    #[inline]
    pub(super) fn find(&mut self, row: usize, of_key: impl Iterator<Item = u32>) -> Option<u32> {
        let SideRows::Found { arena, index, open } = self else { return None };
        let wanted = open.as_ref()?.get(row);
        if index.is_none() {
            for (number, id) in of_key.enumerate() {
                if arena.get(id) == wanted {
                    return Some(id);
                }
                if number == FEW_ROWS {
                    let mut all = RowIndex::default();
                    arena.live().into_iter().for_each(|id| all.insert(id, arena));
                    *index = Some(all);
                    break;
                }
            }
        }
        index.as_ref()?.find(wanted, arena)
    }

    /// Forgets a row.
    pub(super) fn remove(&mut self, id: u32) {
        match self {
            SideRows::Found { arena, index, .. } => {
                if let Some(index) = index {
                    index.remove(id, arena);
                }
                arena.remove(id);
            }
            SideRows::Shared { store, .. } => store.remove(id),
        }
    }

    /// The rows of these ids as columns; none for rows without columns.
    pub(super) fn columns(&self, ids: &[u32]) -> Result<Vec<ArrayRef>> {
        match self {
            SideRows::Found { arena, .. } => arena.columns(ids),
            SideRows::Shared { store, .. } => {
                let places: Vec<_> = ids.iter().map(|id| store.place(*id)).collect();
                store.gather(&places)
            }
        }
    }

    /// About the size of a row in bytes.
    #[inline]
    pub(super) fn bytes_of(&self, id: u32) -> usize {
        match self {
            SideRows::Found { arena, .. } => arena.get(id).len(),
            SideRows::Shared { row_bytes, .. } => *row_bytes,
        }
    }

    /// The number of ids in existence, in use or not: columns indexed by id are this long.
    pub(super) fn ids(&self) -> usize {
        match self {
            SideRows::Found { arena, .. } => arena.ids(),
            SideRows::Shared { store, .. } => store.ids(),
        }
    }

    /// The ids in use, ascending.
    pub(super) fn live(&self) -> Vec<u32> {
        match self {
            SideRows::Found { arena, .. } => arena.live(),
            SideRows::Shared { store, .. } => store.live(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            SideRows::Found { arena, .. } => arena.is_empty(),
            SideRows::Shared { store, .. } => store.is_empty(),
        }
    }

    /// Bytes held, by capacity.
    pub(super) fn memory_size(&self) -> usize {
        match self {
            SideRows::Found { arena, index, .. } => {
                arena.memory_size() + index.as_ref().map_or(0, RowIndex::memory_size)
            }
            SideRows::Shared { store, .. } => store.memory_size(),
        }
    }
}
