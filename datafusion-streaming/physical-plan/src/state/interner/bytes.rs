//! Keys of one string or binary column, and the arena that keeps them.

use std::sync::Arc;

use ahash::RandomState;
use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BinaryBuilder, make_array};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion_common::{Result, internal_err};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::FreeSlots;

/// Whether a column of this type is kept as bytes.
pub(super) fn is_bytes(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
    )
}

/// Where a key's bytes lie in the arena.
#[derive(Debug, Clone, Copy)]
struct Span {
    offset: usize,
    len: u32,
}

/// Byte strings to slots. The bytes lie one behind the other in an arena, which is packed anew when
/// more than half of it belongs to released keys.
#[derive(Debug)]
pub(super) struct ByteKeys {
    table: HashTable<u32>,
    spans: Vec<Span>,
    arena: Vec<u8>,
    released_bytes: usize,
    free: FreeSlots,
    hasher: RandomState,
}

/// An arena smaller than this is not worth packing.
const MIN_PACKED_BYTES: usize = 1 << 16;

impl ByteKeys {
    pub(super) fn new() -> Self {
        ByteKeys {
            table: HashTable::new(),
            spans: vec![],
            arena: vec![],
            released_bytes: 0,
            free: FreeSlots::default(),
            hasher: RandomState::new(),
        }
    }

    pub(super) fn slots(&self) -> usize {
        self.spans.len()
    }

    pub(super) fn free(&self) -> &[u32] {
        &self.free.0
    }

    /// Adds a slot that has no bytes in the arena and is never found: for NULL.
    pub(super) fn add_unfindable(&mut self) -> u32 {
        let slot = self.free.take(self.spans.len());
        self.set_span(slot, Span { offset: 0, len: 0 });
        slot
    }

    pub(super) fn release_unfindable(&mut self, slot: u32) {
        self.free.0.push(slot);
    }

    pub(super) fn get(&self, slot: u32) -> &[u8] {
        let span = self.spans[slot as usize];
        &self.arena[span.offset..span.offset + span.len as usize]
    }

    #[inline]
    pub(super) fn intern(&mut self, key: &[u8]) -> Result<u32> {
        let (spans, arena, hasher) = (&self.spans, &self.arena, &self.hasher);
        let bytes = |slot: u32| {
            let span = spans[slot as usize];
            &arena[span.offset..span.offset + span.len as usize]
        };
        let entry = self.table.entry(
            hasher.hash_one(key),
            |slot| bytes(*slot) == key,
            |slot| hasher.hash_one(bytes(*slot)),
        );
        match entry {
            Entry::Occupied(entry) => Ok(*entry.get()),
            Entry::Vacant(entry) => {
                let Ok(len) = u32::try_from(key.len()) else {
                    return internal_err!("a key of {} bytes is larger than 4 GiB", key.len());
                };
                let slot = self.free.take(spans.len());
                entry.insert(slot);
                let span = Span { offset: self.arena.len(), len };
                self.arena.extend_from_slice(key);
                self.set_span(slot, span);
                Ok(slot)
            }
        }
    }

    fn set_span(&mut self, slot: u32, span: Span) {
        if slot as usize == self.spans.len() {
            self.spans.push(span);
        } else {
            self.spans[slot as usize] = span;
        }
    }

    pub(super) fn release(&mut self, slot: u32) {
        let hash = self.hasher.hash_one(self.get(slot));
        if let Ok(entry) = self.table.find_entry(hash, |other| *other == slot) {
            entry.remove();
            let span = &mut self.spans[slot as usize];
            self.released_bytes += span.len as usize;
            *span = Span { offset: 0, len: 0 };
            self.free.0.push(slot);
        }
        if self.released_bytes > MIN_PACKED_BYTES && self.released_bytes > self.arena.len() / 2 {
            self.pack();
        }
    }

    fn pack(&mut self) {
        let mut packed = Vec::with_capacity(self.arena.len() - self.released_bytes);
        for span in &mut self.spans {
            let offset = packed.len();
            packed.extend_from_slice(&self.arena[span.offset..span.offset + span.len as usize]);
            span.offset = offset;
        }
        self.arena = packed;
        self.released_bytes = 0;
    }

    pub(super) fn memory_size(&self) -> usize {
        self.table.allocation_size()
            + self.spans.capacity() * size_of::<Span>()
            + self.arena.capacity()
            + self.free.0.capacity() * size_of::<u32>()
    }
}

/// Keys of one string or binary column.
#[derive(Debug)]
pub struct ByteColumnKeys {
    data_type: DataType,
    keys: ByteKeys,
    null_slot: Option<u32>,
}

impl ByteColumnKeys {
    pub(super) fn new(data_type: DataType) -> Self {
        ByteColumnKeys { data_type, keys: ByteKeys::new(), null_slot: None }
    }

    pub(super) fn slots(&self) -> usize {
        self.keys.slots()
    }

    pub(super) fn free(&self) -> &[u32] {
        self.keys.free()
    }

    pub(super) fn memory_size(&self) -> usize {
        self.keys.memory_size()
    }

    pub(super) fn intern(&mut self, column: &ArrayRef, slots: &mut Vec<u32>) -> Result<()> {
        match column.data_type() {
            DataType::Utf8 => {
                self.intern_all(column.as_string::<i32>().iter().map(|key| key.map(str::as_bytes)), slots)
            }
            DataType::LargeUtf8 => {
                self.intern_all(column.as_string::<i64>().iter().map(|key| key.map(str::as_bytes)), slots)
            }
            DataType::Utf8View => {
                self.intern_all(column.as_string_view().iter().map(|key| key.map(str::as_bytes)), slots)
            }
            DataType::Binary => self.intern_all(column.as_binary::<i32>().iter(), slots),
            DataType::LargeBinary => self.intern_all(column.as_binary::<i64>().iter(), slots),
            DataType::BinaryView => self.intern_all(column.as_binary_view().iter(), slots),
            other => internal_err!("a key column of type {} came as {other}", self.data_type),
        }
    }

    fn intern_all<'a>(
        &mut self,
        column: impl Iterator<Item = Option<&'a [u8]>>,
        slots: &mut Vec<u32>,
    ) -> Result<()> {
        for key in column {
            slots.push(match key {
                Some(key) => self.keys.intern(key)?,
                None => *self.null_slot.get_or_insert_with(|| self.keys.add_unfindable()),
            });
        }
        Ok(())
    }

    pub(super) fn release(&mut self, slots: &[u32]) {
        for slot in slots {
            if self.null_slot == Some(*slot) {
                self.null_slot = None;
                self.keys.release_unfindable(*slot);
            } else {
                self.keys.release(*slot);
            }
        }
    }

    pub(super) fn column(&self, slots: &[u32]) -> Result<ArrayRef> {
        let bytes = slots.iter().map(|slot| self.keys.get(*slot).len()).sum();
        let mut builder = BinaryBuilder::with_capacity(slots.len(), bytes);
        for slot in slots {
            builder.append_option((self.null_slot != Some(*slot)).then(|| self.keys.get(*slot)));
        }
        typed_column(builder.finish(), &self.data_type)
    }
}

/// The bytes as a column of the key's type; strings were valid when they came.
fn typed_column(bytes: BinaryArray, data_type: &DataType) -> Result<ArrayRef> {
    match data_type {
        DataType::Binary => Ok(Arc::new(bytes)),
        DataType::Utf8 => {
            let data = bytes.into_data().into_builder().data_type(DataType::Utf8).build()?;
            Ok(make_array(data))
        }
        other => Ok(cast(&bytes, other)?),
    }
}
