//! Rows with ids, for operators that keep rows.

use std::fmt;

use ahash::RandomState;
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, Rows, SortField};
use datafusion_common::{Result, exec_datafusion_err, internal_err};
use hashbrown::HashTable;

/// Rows as arrow-row bytes, one behind the other in chunks. A row has an id, dense from 0; ids of removed
/// rows are used again, the last removed first, and the bytes are packed when more than half of them
/// belong to removed rows. Equal rows have equal bytes.
///
/// What else an operator knows of a row is a column of its own, indexed by id.
#[derive(Debug)]
pub struct RowArena {
    /// `None` for rows without columns.
    converter: Option<RowConverter>,
    spans: Vec<Span>,
    bytes: Chunks,
    removed_bytes: usize,
    free: Vec<u32>,
}

/// Bytes that only grow. They are never moved, as those of one large vector would be.
#[derive(Debug, Default)]
struct Chunks {
    chunks: Vec<Vec<u8>>,
    len: usize,
}

impl Chunks {
    fn push(&mut self, row: &[u8], len: u32) -> Span {
        let has_room = |chunk: &Vec<u8>| chunk.len() + row.len() <= CHUNK_BYTES;
        if !self.chunks.last().is_some_and(has_room) {
            // the first chunk, which may be all there is, grows with its content
            let room = if self.chunks.is_empty() { row.len() } else { row.len().max(CHUNK_BYTES) };
            self.chunks.push(Vec::with_capacity(room));
        }
        let number = self.chunks.len() - 1;
        let chunk = &mut self.chunks[number];
        let span = Span { chunk: number as u32, offset: chunk.len() as u32, len };
        chunk.extend_from_slice(row);
        self.len += row.len();
        span
    }

    #[inline]
    fn get(&self, span: Span) -> &[u8] {
        let start = span.offset as usize;
        &self.chunks[span.chunk as usize][start..start + span.len as usize]
    }

    fn memory_size(&self) -> usize {
        self.chunks.capacity() * size_of::<Vec<u8>>() + self.chunks.iter().map(Vec::capacity).sum::<usize>()
    }
}

/// Where the bytes of a row lie.
#[derive(Debug, Clone, Copy)]
struct Span {
    chunk: u32,
    offset: u32,
    len: u32,
}

/// The length of the span of an id that is not in use.
const FREE: u32 = u32::MAX;

/// A chunk has so many bytes, unless one row has more.
const CHUNK_BYTES: usize = 1 << 20;

/// Less is not worth packing.
const MIN_PACKED_BYTES: usize = 1 << 16;

/// The rows of a batch as bytes: what [`RowArena::insert`] takes.
#[derive(Debug)]
pub struct EncodedRows(Option<Rows>);

impl EncodedRows {
    /// The bytes of a row.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        self.0.as_ref().map_or(&[], |rows| rows.row(row).data())
    }
}

impl RowArena {
    /// An arena for rows of columns of these types; an error for a type that arrow-row lacks.
    pub fn try_new(types: &[DataType]) -> Result<Self> {
        let fields: Vec<_> = types.iter().map(|data_type| SortField::new(data_type.clone())).collect();
        let converter = match fields.is_empty() {
            true => None,
            false => Some(RowConverter::new(fields)?),
        };
        Ok(RowArena { converter, spans: vec![], bytes: Chunks::default(), removed_bytes: 0, free: vec![] })
    }

    /// The rows of a batch as bytes.
    pub fn encode(&self, columns: &[ArrayRef]) -> Result<EncodedRows> {
        let rows = self.converter.as_ref().map(|converter| converter.convert_columns(columns)).transpose()?;
        Ok(EncodedRows(rows))
    }

    /// Keeps a row and gives its id.
    pub fn insert(&mut self, row: &[u8]) -> Result<u32> {
        let len = u32::try_from(row.len()).ok().filter(|len| *len != FREE);
        let len = len.ok_or_else(|| exec_datafusion_err!("a row of {} bytes is too large", row.len()))?;
        let span = self.bytes.push(row, len);
        match self.free.pop() {
            Some(id) => {
                self.spans[id as usize] = span;
                Ok(id)
            }
            None if self.spans.len() < u32::MAX as usize => {
                self.spans.push(span);
                Ok(self.spans.len() as u32 - 1)
            }
            None => internal_err!("more than {} rows in one partition of an operator", u32::MAX),
        }
    }

    /// The bytes of a row in use.
    #[inline]
    pub fn get(&self, id: u32) -> &[u8] {
        self.bytes.get(self.spans[id as usize])
    }

    /// Forgets a row in use.
    pub fn remove(&mut self, id: u32) {
        let span = &mut self.spans[id as usize];
        self.removed_bytes += span.len as usize;
        *span = Span { chunk: 0, offset: 0, len: FREE };
        self.free.push(id);
        if self.removed_bytes > MIN_PACKED_BYTES && self.removed_bytes > self.bytes.len / 2 {
            self.pack();
        }
    }

    fn pack(&mut self) {
        let mut packed = Chunks::default();
        for span in self.spans.iter_mut().filter(|span| span.len != FREE) {
            *span = packed.push(self.bytes.get(*span), span.len);
        }
        self.bytes = packed;
        self.removed_bytes = 0;
    }

    /// The rows of these ids as columns; none for rows without columns.
    pub fn columns(&self, ids: &[u32]) -> Result<Vec<ArrayRef>> {
        let Some(converter) = &self.converter else { return Ok(vec![]) };
        let parser = converter.parser();
        Ok(converter.convert_rows(ids.iter().map(|id| parser.parse(self.get(*id))))?)
    }

    /// The number of ids in existence, in use or not: columns indexed by id are this long.
    pub fn ids(&self) -> usize {
        self.spans.len()
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.spans.len() - self.free.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ids in use, ascending.
    pub fn live(&self) -> Vec<u32> {
        (0..self.spans.len() as u32).filter(|id| self.spans[*id as usize].len != FREE).collect()
    }

    /// Bytes held, by capacity.
    pub fn memory_size(&self) -> usize {
        self.converter.as_ref().map_or(0, RowConverter::size)
            + self.spans.capacity() * size_of::<Span>()
            + self.bytes.memory_size()
            + self.free.capacity() * size_of::<u32>()
    }
}

/// Finds rows of an arena by their content.
pub struct RowIndex {
    table: HashTable<u32>,
    hasher: RandomState,
}

impl fmt::Debug for RowIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowIndex").field("rows", &self.table.len()).finish_non_exhaustive()
    }
}

impl Default for RowIndex {
    fn default() -> Self {
        RowIndex { table: HashTable::new(), hasher: RandomState::new() }
    }
}

impl RowIndex {
    /// The row with this content.
    #[inline]
    pub fn find(&self, row: &[u8], arena: &RowArena) -> Option<u32> {
        self.table.find(self.hasher.hash_one(row), |id| arena.get(*id) == row).copied()
    }

    /// Adds a row of the arena, to which no other is equal.
    pub fn insert(&mut self, id: u32, arena: &RowArena) {
        let hasher = &self.hasher;
        let hash = hasher.hash_one(arena.get(id));
        self.table.insert_unique(hash, id, |id| hasher.hash_one(arena.get(*id)));
    }

    /// Takes out a row that is still in the arena.
    pub fn remove(&mut self, id: u32, arena: &RowArena) {
        if let Ok(entry) = self.table.find_entry(self.hasher.hash_one(arena.get(id)), |other| *other == id) {
            entry.remove();
        }
    }

    /// Bytes held, by capacity.
    pub fn memory_size(&self) -> usize {
        self.table.allocation_size()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{AsArray, Int64Array, StringArray};
    use arrow::datatypes::Int64Type;

    use super::*;

    fn columns(values: std::ops::Range<i64>) -> Vec<ArrayRef> {
        let texts = values.clone().map(|value| (value % 3 != 0).then(|| format!("text {value}")));
        vec![Arc::new(Int64Array::from_iter_values(values)), Arc::new(texts.collect::<StringArray>())]
    }

    #[test]
    fn rows_come_back_as_they_were_after_packing() -> Result<()> {
        let mut arena = RowArena::try_new(&[DataType::Int64, DataType::Utf8])?;
        let mut index = RowIndex::default();
        let rows = arena.encode(&columns(0..10_000))?;
        for row in 0..10_000 {
            let id = arena.insert(rows.get(row))?;
            index.insert(id, &arena);
        }
        for id in (0..10_000).filter(|id| id % 10 != 0) {
            index.remove(id, &arena);
            arena.remove(id);
        }
        assert_eq!(arena.len(), 1000);
        let live = arena.live();
        let kept = arena.columns(&live)?;
        let numbers: Vec<_> = kept[0].as_primitive::<Int64Type>().values().iter().copied().collect();
        assert_eq!(numbers, (0..10_000).step_by(10).collect::<Vec<i64>>());
        assert_eq!(index.find(rows.get(20), &arena), Some(20));
        assert_eq!(index.find(rows.get(21), &arena), None);
        // an id is used again
        assert_eq!(arena.insert(rows.get(21))?, 9999);
        Ok(())
    }

    #[test]
    fn rows_may_have_no_columns() -> Result<()> {
        let mut arena = RowArena::try_new(&[])?;
        let rows = arena.encode(&[])?;
        assert_eq!(arena.insert(rows.get(0))?, 0);
        assert_eq!(arena.insert(rows.get(1))?, 1);
        assert!(arena.columns(&[0, 1])?.is_empty());
        Ok(())
    }
}
