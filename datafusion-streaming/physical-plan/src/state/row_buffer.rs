//! Rows that an operator keeps, as the batches in which they came.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::interleave_record_batch;
use arrow::datatypes::SchemaRef;
use datafusion_common::{Result, internal_err};

use crate::changelog::ChangelogBatch;

/// A row of a [`RowBuffer`]. Rows are ordered as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowRef {
    chunk: u64,
    row: u32,
}

/// Rows that are kept until they are released one by one.
///
/// Batches are gathered in chunks, and a batch is dropped with its last row, as is a chunk. Small
/// batches share a chunk, and become one when it is full, so that a row that comes alone does not cost a
/// batch.
#[derive(Debug)]
pub struct RowBuffer {
    schema: SchemaRef,
    chunks: BTreeMap<u64, Chunk>,
    next_chunk: u64,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Chunk {
    batches: Vec<ChangelogBatch>,
    /// The first row of each batch.
    starts: Vec<u32>,
    /// How many rows of each batch are kept; one of which none is, is empty.
    lives: Vec<u32>,
    rows: u32,
    live: u32,
    bytes: usize,
}

impl Chunk {
    /// The number of the batch that a row is in.
    fn batch_of(&self, row: u32) -> usize {
        self.starts.partition_point(|start| *start <= row) - 1
    }
}

/// The number of rows from which on a chunk takes no other batch.
const FULL_CHUNK: u32 = 1024;

impl RowBuffer {
    /// An empty buffer for rows of `schema`.
    pub fn new(schema: SchemaRef) -> Self {
        RowBuffer { schema, chunks: BTreeMap::new(), next_chunk: 0, bytes: 0 }
    }

    /// The schema of the rows.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Keeps rows; returns them in their order.
    pub fn push(&mut self, changes: ChangelogBatch) -> Result<impl Iterator<Item = RowRef> + use<>> {
        let is_full = |(_, chunk): (&u64, &Chunk)| chunk.rows >= FULL_CHUNK;
        if self.chunks.last_key_value().is_none_or(is_full) {
            self.next_chunk += 1;
        }
        let id = self.next_chunk;
        let chunk = self.chunks.entry(id).or_default();
        let (first, added) = (chunk.rows, changes.num_rows() as u32);
        let bytes = changes.batch().get_array_memory_size();
        chunk.rows += added;
        chunk.live += added;
        chunk.bytes += bytes;
        chunk.starts.push(first);
        chunk.lives.push(added);
        chunk.batches.push(changes);
        self.bytes += bytes;
        // what has been dropped leaves gaps between the batches
        if chunk.rows >= FULL_CHUNK && chunk.batches.len() > 1 && !chunk.lives.contains(&0) {
            let batch = ChangelogBatch::concat(&self.schema, &chunk.batches)?;
            let bytes = batch.batch().get_array_memory_size();
            self.bytes = self.bytes + bytes - chunk.bytes;
            (chunk.batches, chunk.bytes) = (vec![batch], bytes);
            (chunk.starts, chunk.lives) = (vec![0], vec![chunk.live]);
        }
        Ok((first..first + added).map(move |row| RowRef { chunk: id, row }))
    }

    /// The rows, in the order given, with their kinds.
    pub fn gather(&self, rows: &[RowRef]) -> Result<ChangelogBatch> {
        if rows.is_empty() {
            return Ok(ChangelogBatch::insert_only(RecordBatch::new_empty(Arc::clone(&self.schema))));
        }
        if let Some(changes) = self.slice(rows) {
            return Ok(changes);
        }
        // the place of the first batch of each chunk
        let mut places = BTreeMap::new();
        let mut batches: Vec<&ChangelogBatch> = vec![];
        let mut indices = Vec::with_capacity(rows.len());
        for RowRef { chunk, row } in rows {
            let Some(held) = self.chunks.get(chunk) else {
                return internal_err!("a row is read that has been released");
            };
            let first = *places.entry(*chunk).or_insert_with(|| {
                batches.extend(&held.batches);
                batches.len() - held.batches.len()
            });
            let batch = held.batch_of(*row);
            indices.push((first + batch, (row - held.starts[batch]) as usize));
        }
        let plain: Vec<_> = batches.iter().map(|batch| batch.batch()).collect();
        let batch = interleave_record_batch(&plain, &indices)?;
        if batches.iter().all(|batch| batch.kinds().is_none()) {
            return Ok(ChangelogBatch::insert_only(batch));
        }
        let kinds = indices.iter().map(|(batch, row)| batches[*batch].kind(*row)).collect();
        ChangelogBatch::try_new(batch, kinds)
    }

    /// The rows, if they follow each other in one batch, without being copied.
    fn slice(&self, rows: &[RowRef]) -> Option<ChangelogBatch> {
        let (first, last) = (rows.first()?, rows.last()?);
        let follow =
            rows.windows(2).all(|pair| pair[0].chunk == pair[1].chunk && pair[0].row + 1 == pair[1].row);
        let chunk = self.chunks.get(&first.chunk).filter(|_| follow)?;
        let batch = chunk.batch_of(first.row);
        let start = first.row - chunk.starts[batch];
        (batch == chunk.batch_of(last.row)).then(|| chunk.batches[batch].slice(start as usize, rows.len()))
    }

    /// Forgets rows, each of which must not have been released before.
    pub fn release(&mut self, rows: &[RowRef]) {
        for rows in rows.chunk_by(|left, right| left.chunk == right.chunk) {
            self.release_of_chunk(rows[0].chunk, rows);
        }
    }

    fn release_of_chunk(&mut self, id: u64, rows: &[RowRef]) {
        let Some(chunk) = self.chunks.get_mut(&id) else { return };
        chunk.live -= rows.len() as u32;
        if chunk.live == 0 {
            self.bytes -= chunk.bytes;
            self.chunks.remove(&id);
            return;
        }
        for row in rows {
            let batch = chunk.batch_of(row.row);
            chunk.lives[batch] -= 1;
            if chunk.lives[batch] == 0 {
                let empty = ChangelogBatch::insert_only(RecordBatch::new_empty(Arc::clone(&self.schema)));
                let dropped = std::mem::replace(&mut chunk.batches[batch], empty);
                let bytes = dropped.batch().get_array_memory_size();
                chunk.bytes -= bytes;
                self.bytes -= bytes;
            }
        }
    }

    /// Bytes held.
    pub fn memory_size(&self) -> usize {
        self.bytes + self.chunks.len() * size_of::<Chunk>()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array};
    use arrow::datatypes::{DataType, Field, Schema};

    use super::*;

    fn rows(values: Vec<i64>) -> Result<ChangelogBatch> {
        let schema = Arc::new(Schema::new(vec![Field::new("v", DataType::Int64, false)]));
        let column: ArrayRef = Arc::new(Int64Array::from(values));
        Ok(ChangelogBatch::insert_only(RecordBatch::try_new(schema, vec![column])?))
    }

    #[test]
    fn rows_are_gathered_in_any_order_and_leave_nothing_behind() -> Result<()> {
        let schema = rows(vec![])?.schema();
        let mut buffer = RowBuffer::new(schema);
        let small: Vec<_> = buffer.push(rows(vec![1, 2])?)?.chain(buffer.push(rows(vec![3])?)?).collect();
        assert_eq!(buffer.gather(&[small[2], small[1]])?, rows(vec![3, 2])?);
        let large: Vec<_> = buffer.push(rows((10..3_000).collect())?)?.collect();
        let other: Vec<_> = buffer.push(rows(vec![7])?)?.collect();
        assert!(small[2] < large[0] && large[5] < other[0]);
        let picked = buffer.gather(&[other[0], small[2], large[1], small[0]])?;
        assert_eq!(picked, rows(vec![7, 3, 11, 1])?);
        for part in [&small, &large, &other] {
            buffer.release(part);
        }
        assert_eq!(buffer.memory_size(), 0);
        Ok(())
    }

    #[test]
    fn a_batch_is_dropped_with_its_last_row() -> Result<()> {
        let mut buffer = RowBuffer::new(rows(vec![])?.schema());
        let first: Vec<_> = buffer.push(rows(vec![1, 2])?)?.collect();
        let one = buffer.memory_size();
        let second: Vec<_> = buffer.push(rows(vec![3, 4])?)?.collect();
        let both = buffer.memory_size();
        buffer.release(&first[..1]);
        assert_eq!(buffer.memory_size(), both);
        buffer.release(&first[1..]);
        assert_eq!(buffer.memory_size(), one);
        let third: Vec<_> = buffer.push(rows((0..2_000).collect())?)?.collect();
        assert_eq!(buffer.gather(&[second[1], third[7], second[0]])?, rows(vec![4, 7, 3])?);
        buffer.release(&second);
        buffer.release(&third);
        assert_eq!(buffer.memory_size(), 0);
        Ok(())
    }
}
