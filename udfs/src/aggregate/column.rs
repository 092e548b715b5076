//! Columns indexed by slot, and the batches of values that go into and come out of them.

use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::{Array, ArrayData, ArrayRef, AsArray, BooleanArray, Int64Array, make_array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::DataType;
use datafusion_common::{Result, internal_datafusion_err, internal_err};

/// A value that a column holds inline: the native types of Arrow's primitive arrays, and `bool`.
///
/// All types of one native representation share one implementation: DATE is `i32`, every TIMESTAMP `i64`.
pub(super) trait Element:
    Copy + Default + PartialEq + PartialOrd + Debug + Send + Sync + 'static
{
    /// The values of an array, without its NULLs.
    type Values: Debug;

    /// The values of `array`, whose type must have this representation.
    fn values(array: &ArrayRef) -> Result<Self::Values>;

    /// The value of a row; any where the array is NULL.
    fn get(values: &Self::Values, row: usize) -> Self;

    /// An array of `data_type`, which must have this representation.
    fn array(values: Vec<Self>, nulls: Option<NullBuffer>, data_type: &DataType) -> Result<ArrayRef>;
}

macro_rules! native_element {
    ($($native:ty),*) => {$(
        impl Element for $native {
            type Values = ScalarBuffer<$native>;

            fn values(array: &ArrayRef) -> Result<Self::Values> {
                let data = array.to_data();
                match data.buffers() {
                    [values] if array.data_type().primitive_width() == Some(size_of::<$native>()) => {
                        Ok(ScalarBuffer::new(values.clone(), data.offset(), data.len()))
                    }
                    _ => internal_err!("{} is no array of {}", array.data_type(), stringify!($native)),
                }
            }

            #[inline(always)]
            fn get(values: &Self::Values, row: usize) -> Self {
                values[row]
            }

            fn array(values: Vec<Self>, nulls: Option<NullBuffer>, data_type: &DataType) -> Result<ArrayRef> {
                let data = ArrayData::builder(data_type.clone())
                    .len(values.len())
                    .nulls(nulls)
                    .add_buffer(Buffer::from_vec(values));
                Ok(make_array(data.build()?))
            }
        }
    )*};
}

native_element!(i8, i16, i32, i64, i128, u8, u16, u32, u64, f32, f64);

impl Element for bool {
    type Values = BooleanBuffer;

    fn values(array: &ArrayRef) -> Result<Self::Values> {
        match array.as_boolean_opt() {
            Some(array) => Ok(array.values().clone()),
            None => internal_err!("{} is no BOOLEAN array", array.data_type()),
        }
    }

    #[inline(always)]
    fn get(values: &Self::Values, row: usize) -> Self {
        values.value(row)
    }

    fn array(values: Vec<Self>, nulls: Option<NullBuffer>, _: &DataType) -> Result<ArrayRef> {
        Ok(Arc::new(BooleanArray::new(BooleanBuffer::from(values), nulls)))
    }
}

/// Calls `$make::<N>` with the native type that represents `$data_type`, or evaluates `$other`.
macro_rules! dispatch_native {
    ($data_type:expr, $native:ident => $make:expr, _ => $other:expr) => {{
        use arrow::datatypes::DataType;
        match $data_type {
            DataType::Int8 => {
                type $native = i8;
                $make
            }
            DataType::Int16 => {
                type $native = i16;
                $make
            }
            DataType::Int32 | DataType::Date32 | DataType::Time32(_) => {
                type $native = i32;
                $make
            }
            DataType::Int64
            | DataType::Date64
            | DataType::Time64(_)
            | DataType::Timestamp(_, _)
            | DataType::Duration(_) => {
                type $native = i64;
                $make
            }
            DataType::UInt8 => {
                type $native = u8;
                $make
            }
            DataType::UInt16 => {
                type $native = u16;
                $make
            }
            DataType::UInt32 => {
                type $native = u32;
                $make
            }
            DataType::UInt64 => {
                type $native = u64;
                $make
            }
            DataType::Float32 => {
                type $native = f32;
                $make
            }
            DataType::Float64 => {
                type $native = f64;
                $make
            }
            DataType::Decimal128(_, _) => {
                type $native = i128;
                $make
            }
            DataType::Boolean => {
                type $native = bool;
                $make
            }
            _ => $other,
        }
    }};
}
pub(super) use dispatch_native;

/// A set of slots, one bit each.
#[derive(Debug, Default)]
pub(super) struct SlotSet {
    words: Vec<u64>,
}

impl SlotSet {
    /// Makes room for slots `0..slots`. New ones are not in the set.
    pub(super) fn grow(&mut self, slots: usize) {
        grow(&mut self.words, slots.div_ceil(64));
    }

    #[inline(always)]
    pub(super) fn contains(&self, slot: usize) -> bool {
        self.words[slot / 64] >> (slot % 64) & 1 == 1
    }

    #[inline(always)]
    pub(super) fn insert(&mut self, slot: usize) {
        self.words[slot / 64] |= 1 << (slot % 64);
    }

    #[inline(always)]
    pub(super) fn remove(&mut self, slot: usize) {
        self.words[slot / 64] &= !(1 << (slot % 64));
    }

    pub(super) fn memory_size(&self) -> usize {
        vec_size(&self.words)
    }
}

/// A column of values that may be NULL; a clear slot is.
#[derive(Debug, Default)]
pub(super) struct NullableColumn<E> {
    values: Vec<E>,
    valid: SlotSet,
}

impl<E: Element> NullableColumn<E> {
    /// Makes room for slots `0..slots`.
    pub(super) fn grow(&mut self, slots: usize) {
        grow(&mut self.values, slots);
        self.valid.grow(slots);
    }

    #[inline(always)]
    pub(super) fn get(&self, slot: usize) -> Option<E> {
        self.valid.contains(slot).then(|| self.values[slot])
    }

    /// Sets the value of a slot and returns it.
    #[inline(always)]
    pub(super) fn set(&mut self, slot: usize, value: E) -> Option<E> {
        self.values[slot] = value;
        self.valid.insert(slot);
        Some(value)
    }

    /// Sets the value of a slot that has one, or clears it. Returns the value.
    #[inline(always)]
    pub(super) fn update(&mut self, slot: usize, value: Option<E>) -> Option<E> {
        match value {
            Some(value) => self.values[slot] = value,
            None => self.clear(slot),
        }
        value
    }

    #[inline(always)]
    pub(super) fn clear(&mut self, slot: usize) {
        self.valid.remove(slot);
    }

    /// The values of `slots` as an array of `data_type`.
    pub(super) fn gather(&self, slots: &[u32], data_type: &DataType) -> Result<ArrayRef> {
        Values::collect(slots.iter().map(|&slot| self.get(slot as usize)), data_type)
    }

    pub(super) fn memory_size(&self) -> usize {
        vec_size(&self.values) + self.valid.memory_size()
    }
}

/// Adds counts of another state, the array of [`gather_counts`].
pub(super) fn merge_counts(counts: &mut [i64], slots: &[u32], merged: &ArrayRef) -> Result<()> {
    for (&slot, &count) in slots.iter().zip(i64::values(merged)?.iter()) {
        let total = &mut counts[slot as usize];
        *total = total.wrapping_add(count);
    }
    Ok(())
}

/// Adds the counts of the slots `from` to those of `into`.
pub(super) fn merge_slot_counts(counts: &mut [i64], into: &[u32], from: &[u32]) {
    for (&into, &from) in into.iter().zip(from) {
        counts[into as usize] = counts[into as usize].wrapping_add(counts[from as usize]);
    }
}

/// The counts of `slots` as an array.
pub(super) fn gather_counts(counts: &[i64], slots: &[u32]) -> ArrayRef {
    Arc::new(slots.iter().map(|&slot| counts[slot as usize]).collect::<Int64Array>())
}

/// Column `index` of a snapshot; an error where it is missing.
pub(super) fn state_column(state: &[ArrayRef], index: usize) -> Result<&ArrayRef> {
    state.get(index).ok_or_else(|| internal_datafusion_err!("the state of an aggregate lacks column {index}"))
}

/// Grows a column with clear values. Never shrinks it.
pub(super) fn grow<T: Clone + Default>(column: &mut Vec<T>, len: usize) {
    if column.len() < len {
        column.resize(len, T::default());
    }
}

/// Grows a column of values that cannot be cloned.
pub(super) fn grow_with<T: Default>(column: &mut Vec<T>, len: usize) {
    if column.len() < len {
        column.resize_with(len, T::default);
    }
}

/// The bytes of a vector, without what its elements own.
pub(super) fn vec_size<T>(vec: &Vec<T>) -> usize {
    vec.capacity() * size_of::<T>()
}

/// Values on their way into an array. The validity bitmap is made at the first NULL.
///
/// The values are put where they belong rather than appended: a length that is read and written for
/// every value takes longer than all else in a loop of a few instructions.
#[derive(Debug)]
pub(super) struct Values<E> {
    values: Vec<E>,
    nulls: NullMask,
}

impl<E: Element> Values<E> {
    /// Room for `len` values.
    pub(super) fn new(len: usize) -> Self {
        Self { values: vec![E::default(); len], nulls: NullMask::new(len) }
    }

    /// Puts a value, behind the others or in the place of the room made for it.
    #[inline(always)]
    pub(super) fn put(&mut self, at: usize, value: Option<E>) {
        let Some(place) = self.values.get_mut(at) else { return self.put_behind(at, value) };
        match value {
            Some(value) => *place = value,
            None => self.nulls.set_null(at),
        }
    }

    #[cold]
    fn put_behind(&mut self, at: usize, value: Option<E>) {
        self.values.resize(at + 1, E::default());
        self.put(at, value);
    }

    pub(super) fn finish(self, data_type: &DataType) -> Result<ArrayRef> {
        let nulls = self.nulls.finish(self.values.len());
        E::array(self.values, nulls, data_type)
    }

    /// An array of values.
    pub(super) fn collect(
        values: impl ExactSizeIterator<Item = Option<E>>,
        data_type: &DataType,
    ) -> Result<ArrayRef> {
        let mut collected = Self::new(values.len());
        for (at, value) in values.enumerate() {
            collected.put(at, value);
        }
        collected.finish(data_type)
    }
}

/// The NULLs of an array that grows. Takes no memory as long as there are none.
#[derive(Debug)]
pub(super) struct NullMask {
    /// Arrow's validity bits; what lies behind their end is valid.
    bytes: Vec<u8>,
    capacity: usize,
}

impl NullMask {
    /// A mask for about `capacity` values.
    pub(super) fn new(capacity: usize) -> Self {
        Self { bytes: Vec::new(), capacity }
    }

    #[cold]
    fn reserve(&mut self, index: usize) {
        let bytes = self.capacity.max(index + 1).div_ceil(8);
        self.bytes.resize(bytes, u8::MAX);
    }

    #[inline]
    pub(super) fn set_null(&mut self, index: usize) {
        if self.bytes.len() <= index / 8 {
            self.reserve(index);
        }
        self.bytes[index / 8] &= !(1 << (index % 8));
    }

    /// The validity of `len` values, `None` if none is NULL.
    pub(super) fn finish(mut self, len: usize) -> Option<NullBuffer> {
        if self.bytes.is_empty() {
            return None;
        }
        self.bytes.resize(len.div_ceil(8), u8::MAX);
        let nulls = NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(self.bytes), 0, len));
        (nulls.null_count() > 0).then_some(nulls)
    }
}
