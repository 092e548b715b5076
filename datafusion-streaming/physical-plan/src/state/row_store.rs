//! Rows that an operator keeps, by reference to the batches that they came in.
//!
//! ```text
//!   ids:     7 ──► (chunk 2, row 0)          chunk 0   8192 rows of one input batch, shared
//!            8 ──► (chunk 0, row 17)         chunk 1   (free)
//!            9 ──► (chunk 2, row 1)          chunk 2   what was left of many small or sparse ones
//! ```
//!
//! A row is kept without copying it, and an id stays valid while rows are moved together. Output is
//! decoded in bulk: [`RowStore::gather`] builds whole columns from the places of rows.

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{interleave, take, take_record_batch};
use arrow::datatypes::SchemaRef;
use datafusion_common::Result;

use super::row_equality::equal_values;

/// A row that is kept. Ids of removed rows are used again.
pub type RowId = u32;

/// Where a row is while a batch is worked on: places change when the batch is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub(super) chunk: u32,
    pub(super) row: u32,
}

/// Chunks up to this many rows are made by moving rows together.
const CHUNK_ROWS: usize = 8192;

/// So many rows that are gone may stay in chunks, besides as many as are kept. Moving what is left of each
/// batch at once would copy most rows; this way a row is copied seldom.
const SLACK_ROWS: usize = 8 * CHUNK_ROWS;

/// So many chunks are merged at once.
const FANOUT: usize = 8;

/// A chunk is like one with fewer rows if it has at most so many times its rows.
const LIKE: usize = 4;

const NOBODY: RowId = RowId::MAX;

/// Rows that are kept, in the batches that they came in.
#[derive(Debug)]
pub struct RowStore {
    schema: SchemaRef,
    chunks: Vec<Chunk>,
    /// Chunks that are in use, from the largest to the newest.
    order: Vec<u32>,
    free_chunks: Vec<u32>,
    places: Vec<Place>,
    free_ids: Vec<RowId>,
    /// The chunk of the batch that is worked on.
    open: Option<u32>,
    /// Rows that are kept.
    live: usize,
    /// Rows that the chunks hold, kept or not.
    stored: usize,
    chunk_bytes: usize,
}

#[derive(Debug)]
struct Chunk {
    batch: RecordBatch,
    /// The id of each row that is kept.
    owners: Vec<RowId>,
    live: usize,
    bytes: usize,
}

/// What is read to put the rows at some places together, of each column the same.
enum Gathering {
    Nothing,
    /// Rows that lie together.
    Slice {
        first: Place,
        rows: usize,
    },
    OfOne {
        chunk: u32,
        rows: UInt32Array,
    },
    /// Of each row the number of its chunk among `chunks`, and its place there.
    OfMany {
        chunks: Vec<u32>,
        rows: Vec<(usize, usize)>,
    },
}

impl Gathering {
    fn of(places: &[Place], all_chunks: usize) -> Self {
        let Some(first) = places.first().copied() else { return Gathering::Nothing };
        if places.iter().all(|place| place.chunk == first.chunk) {
            if (first.row..).zip(places).all(|(row, place)| place.row == row) {
                return Gathering::Slice { first, rows: places.len() };
            }
            let rows: Vec<u32> = places.iter().map(|place| place.row).collect();
            return Gathering::OfOne { chunk: first.chunk, rows: rows.into() };
        }
        let mut numbers = vec![u32::MAX; all_chunks];
        let mut chunks = vec![];
        let row = |place: &Place| {
            let number = &mut numbers[place.chunk as usize];
            if *number == u32::MAX {
                *number = chunks.len() as u32;
                chunks.push(place.chunk);
            }
            (*number as usize, place.row as usize)
        };
        let rows = places.iter().map(row).collect();
        Gathering::OfMany { chunks, rows }
    }
}

impl RowStore {
    /// An empty store for rows of a schema.
    pub fn new(schema: SchemaRef) -> Self {
        RowStore {
            schema,
            chunks: vec![],
            order: vec![],
            free_chunks: vec![],
            places: vec![],
            free_ids: vec![],
            open: None,
            live: 0,
            stored: 0,
            chunk_bytes: 0,
        }
    }

    /// The schema of the rows.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The number of rows kept.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Whether no row is kept.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// The number of ids in existence, in use or not: columns indexed by id are this long.
    pub fn ids(&self) -> usize {
        self.places.len()
    }

    /// The ids in use, ascending.
    pub fn live(&self) -> Vec<RowId> {
        let mut live = vec![true; self.places.len()];
        for id in &self.free_ids {
            live[*id as usize] = false;
        }
        (0..live.len() as RowId).filter(|id| live[*id as usize]).collect()
    }

    /// Starts work on a batch: until [`RowStore::close`], places are valid and rows of the batch can
    /// be added.
    pub fn open(&mut self, batch: &RecordBatch) {
        let rows = batch.num_rows();
        self.open = Some(self.new_chunk(Chunk {
            batch: batch.clone(),
            owners: vec![NOBODY; rows],
            live: 0,
            bytes: 0,
        }));
    }

    /// Keeps a row of the open batch.
    #[inline]
    pub fn add(&mut self, row: usize) -> RowId {
        let place = self.place_in_batch(row);
        let id = id_for(place, &mut self.free_ids, &mut self.places);
        let chunk = &mut self.chunks[place.chunk as usize];
        chunk.owners[row] = id;
        chunk.live += 1;
        self.live += 1;
        id
    }

    /// Keeps rows of the open batch: [`RowStore::add`] for many at once.
    pub fn add_all(&mut self, rows: &[u32]) -> Vec<RowId> {
        let number = self.open.unwrap_or_default();
        let chunk = &mut self.chunks[number as usize];
        chunk.live += rows.len();
        self.live += rows.len();
        self.places.reserve(rows.len().saturating_sub(self.free_ids.len()));
        let keep = |row: &u32| {
            let place = Place { chunk: number, row: *row };
            let id = id_for(place, &mut self.free_ids, &mut self.places);
            chunk.owners[*row as usize] = id;
            id
        };
        rows.iter().map(keep).collect()
    }

    /// Lets a row go. What is at its place stays readable until the batch is closed.
    #[inline]
    pub fn remove(&mut self, id: RowId) {
        let place = self.places[id as usize];
        let chunk = &mut self.chunks[place.chunk as usize];
        chunk.owners[place.row as usize] = NOBODY;
        chunk.live -= 1;
        self.live -= 1;
        self.free_ids.push(id);
    }

    /// Where a row that is kept is now.
    #[inline]
    pub fn place(&self, id: RowId) -> Place {
        self.places[id as usize]
    }

    /// Where a row of the open batch is.
    #[inline]
    pub fn place_in_batch(&self, row: usize) -> Place {
        Place { chunk: self.open.unwrap_or_default(), row: row as u32 }
    }

    /// The rows at these places, in that order, as columns.
    pub fn gather(&self, places: &[Place]) -> Result<Vec<ArrayRef>> {
        let gathering = Gathering::of(places, self.chunks.len());
        (0..self.schema.fields().len()).map(|column| self.gathered(&gathering, column)).collect()
    }

    /// A column of the rows at these places.
    pub fn gather_column(&self, column: usize, places: &[Place]) -> Result<ArrayRef> {
        self.gathered(&Gathering::of(places, self.chunks.len()), column)
    }

    fn gathered(&self, gathering: &Gathering, column: usize) -> Result<ArrayRef> {
        Ok(match gathering {
            Gathering::Nothing => arrow::array::new_empty_array(self.schema.field(column).data_type()),
            Gathering::Slice { first, rows } => {
                self.column(first.chunk, column).slice(first.row as usize, *rows)
            }
            Gathering::OfOne { chunk, rows } => take(self.column(*chunk, column), rows, None)?,
            Gathering::OfMany { chunks, rows } => {
                let arrays: Vec<&dyn Array> =
                    chunks.iter().map(|chunk| self.column(*chunk, column).as_ref()).collect();
                interleave(&arrays, rows)?
            }
        })
    }

    /// A column of all rows of a chunk.
    #[inline]
    pub(super) fn column(&self, chunk: u32, column: usize) -> &ArrayRef {
        self.chunks[chunk as usize].batch.column(column)
    }

    /// The number of chunks in existence, in use or not.
    pub(super) fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// The rows of these ids, in that order.
    pub fn rows(&self, ids: &[RowId]) -> Result<RecordBatch> {
        let places: Vec<_> = ids.iter().map(|id| self.place(*id)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(ids.len()));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), self.gather(&places)?, &options)?)
    }

    /// Whether a row that is kept equals a row of the open batch in these columns: NULL equals NULL,
    /// and floats are compared by their bits.
    pub fn equals(&self, id: RowId, row: usize, columns: &[usize]) -> bool {
        let (kept, other) = (self.place(id), self.place_in_batch(row));
        columns.iter().all(|column| {
            let (kept_values, values) = (self.column(kept.chunk, *column), self.column(other.chunk, *column));
            equal_values(kept_values, kept.row as usize, values, other.row as usize)
        })
    }

    /// Ends work on the batch: what is kept of it stays, moved together where that is little.
    pub fn close(&mut self) -> Result<()> {
        let Some(open) = self.open.take() else { return self.drop_dead() };
        if self.chunks[open as usize].live == 0 {
            self.free_chunk(open);
        } else {
            self.order.push(open);
            let chunk = &mut self.chunks[open as usize];
            chunk.bytes = shown_bytes(chunk.batch.columns());
            self.chunk_bytes += chunk.bytes;
            self.merge_small()?;
        }
        self.drop_dead()
    }

    /// Bytes held. A batch counts for the rows that it shows, kept or not, but not for what else is in
    /// buffers that it shares with others.
    pub fn memory_size(&self) -> usize {
        self.chunk_bytes
            + self.stored * size_of::<RowId>()
            + self.places.capacity() * size_of::<Place>()
            + self.free_ids.capacity() * size_of::<RowId>()
    }

    /// Merges the newest chunks when there are [`FANOUT`] of like size, so that there are few chunks and a row is
    /// moved few times.
    fn merge_small(&mut self) -> Result<()> {
        loop {
            let rows = |chunk: &u32| self.chunks[*chunk as usize].batch.num_rows();
            let newest = self.order.last().map_or(0, rows);
            let mut all = 0;
            let alike = self.order.iter().rev().map(rows).take_while(|rows| {
                all += rows;
                *rows <= LIKE * newest && all <= CHUNK_ROWS
            });
            if alike.take(FANOUT).count() < FANOUT {
                return Ok(());
            }
            let merged = self.order.split_off(self.order.len() - FANOUT);
            self.move_together(&merged)?;
        }
    }

    /// Frees the memory of rows that are gone once they are most of what the chunks hold.
    fn drop_dead(&mut self) -> Result<()> {
        if self.live > 0 && self.stored <= 2 * self.live + SLACK_ROWS {
            return Ok(());
        }
        let is_sparse = |chunk: &u32| {
            let chunk = &self.chunks[*chunk as usize];
            chunk.live * 2 < chunk.batch.num_rows()
        };
        let (sparse, dense): (Vec<u32>, Vec<u32>) = self.order.iter().partition(|chunk| is_sparse(chunk));
        self.order = dense;
        let mut group = vec![];
        let mut rows = 0;
        for chunk in sparse {
            let live = self.chunks[chunk as usize].live;
            if rows + live > CHUNK_ROWS && !group.is_empty() {
                self.move_together(&std::mem::take(&mut group))?;
                rows = 0;
            }
            group.push(chunk);
            rows += live;
        }
        self.move_together(&group)
    }

    /// Makes one chunk of what is kept in these.
    fn move_together(&mut self, chunks: &[u32]) -> Result<()> {
        let mut owners = vec![];
        let mut places = vec![];
        for chunk in chunks {
            for (row, owner) in self.chunks[*chunk as usize].owners.iter().enumerate() {
                if *owner != NOBODY {
                    owners.push(*owner);
                    places.push(Place { chunk: *chunk, row: row as u32 });
                }
            }
        }
        if !owners.is_empty() {
            let batch = match chunks {
                [one] => {
                    let rows = UInt32Array::from_iter_values(places.iter().map(|place| place.row));
                    take_record_batch(&self.chunks[*one as usize].batch, &rows)?
                }
                _ => {
                    let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
                    let columns = self.gather(&places)?;
                    RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?
                }
            };
            let bytes = shown_bytes(batch.columns());
            self.chunk_bytes += bytes;
            let live = owners.len();
            let number = self.new_chunk(Chunk { batch, owners, live, bytes });
            for (row, owner) in self.chunks[number as usize].owners.iter().enumerate() {
                self.places[*owner as usize] = Place { chunk: number, row: row as u32 };
            }
            self.order.push(number);
        }
        for chunk in chunks {
            self.free_chunk(*chunk);
        }
        Ok(())
    }

    fn new_chunk(&mut self, chunk: Chunk) -> u32 {
        self.stored += chunk.batch.num_rows();
        match self.free_chunks.pop() {
            Some(number) => {
                self.chunks[number as usize] = chunk;
                number
            }
            None => {
                self.chunks.push(chunk);
                (self.chunks.len() - 1) as u32
            }
        }
    }

    fn free_chunk(&mut self, number: u32) {
        let empty = RecordBatch::new_empty(self.schema.clone());
        let chunk = Chunk { batch: empty, owners: vec![], live: 0, bytes: 0 };
        let freed = std::mem::replace(&mut self.chunks[number as usize], chunk);
        self.stored -= freed.batch.num_rows();
        self.chunk_bytes -= freed.bytes;
        self.free_chunks.push(number);
    }
}

/// An id, a free one or the next, for the row at a place.
#[inline]
fn id_for(place: Place, free_ids: &mut Vec<RowId>, places: &mut Vec<Place>) -> RowId {
    match free_ids.pop() {
        Some(id) => {
            places[id as usize] = place;
            id
        }
        None => {
            places.push(place);
            (places.len() - 1) as RowId
        }
    }
}

/// The bytes of columns: a slice counts for what it shows, not for the buffers that it shares.
pub fn shown_bytes(columns: &[ArrayRef]) -> usize {
    columns.iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{AsArray, Int64Array, StringArray};
    use arrow::datatypes::{DataType, Field, Int64Type, Schema};

    use super::*;

    fn batch(values: impl IntoIterator<Item = i64>) -> RecordBatch {
        let values: Vec<i64> = values.into_iter().collect();
        let texts = StringArray::from_iter_values(values.iter().map(|value| format!("row {value}")));
        let schema = Schema::new(vec![
            Field::new("v", DataType::Int64, false),
            Field::new("s", DataType::Utf8, false),
        ]);
        let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(values)), Arc::new(texts)];
        RecordBatch::try_new(Arc::new(schema), columns).unwrap()
    }

    #[test]
    fn ids_outlive_every_move() -> Result<()> {
        let mut store = RowStore::new(batch([]).schema());
        let mut kept: Vec<(RowId, i64)> = vec![];
        for start in 0..2_000 {
            let rows = if start % 50 == 0 { 3_000 } else { 1 + start % 3 };
            store.open(&batch((0..rows).map(|row| start * 10_000 + row)));
            for row in (0..rows).step_by(1 + (start % 7) as usize) {
                kept.push((store.add(row as usize), start * 10_000 + row));
            }
            while kept.len() > 5_000 {
                let (id, _) = kept.swap_remove((start as usize * 31) % kept.len());
                store.remove(id);
            }
            store.close()?;
        }
        let ids: Vec<_> = kept.iter().map(|(id, _)| *id).collect();
        let rows = store.rows(&ids)?;
        let values: Vec<_> = kept.iter().map(|(_, value)| *value).collect();
        assert_eq!(rows.column(0).as_primitive::<Int64Type>().values(), values.as_slice());
        assert_eq!(rows.column(1).as_string::<i32>().value(77), format!("row {}", values[77]));
        assert_eq!(store.len(), kept.len());
        assert!(store.order.len() < 64, "{} chunks", store.order.len());
        assert!(store.stored <= 2 * store.live + SLACK_ROWS);
        Ok(())
    }

    #[test]
    fn a_removed_row_is_readable_until_the_batch_is_closed() -> Result<()> {
        let mut store = RowStore::new(batch([]).schema());
        store.open(&batch([1, 2]));
        let id = store.add(0);
        store.close()?;
        store.open(&batch([3]));
        let places = [store.place(id), store.place_in_batch(0)];
        assert!(!store.equals(id, 0, &[0]));
        store.remove(id);
        assert_eq!(store.gather_column(0, &places)?.as_primitive::<Int64Type>().values(), &[1, 3]);
        store.close()?;
        assert!(store.is_empty() && store.stored == 0);
        Ok(())
    }
}
