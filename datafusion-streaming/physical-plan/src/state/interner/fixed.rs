//! Keys of one or two columns that fit a word each.

use std::sync::Arc;

use ahash::RandomState;
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{DataType, Date32Type, Date64Type, Float32Type, Float64Type};
use arrow::datatypes::{DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType};
use arrow::datatypes::{DurationSecondType, Int8Type, Int16Type, Int32Type, Int64Type, TimeUnit};
use arrow::datatypes::{
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
};
use arrow::datatypes::{TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType};
use arrow::datatypes::{TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use datafusion_common::{Result, internal_err};

use super::range_table::{Range, RangeTable};
use super::slot_table::{NO_SLOT, SlotTable, Tag};
use super::{FreeSlots, hash_word};

/// Calls a macro with the Arrow type of a fixed-width data type.
macro_rules! with_fixed_type {
    ($data_type:expr, $call:ident, $otherwise:expr) => {
        match $data_type {
            DataType::Int8 => $call!(Int8Type),
            DataType::Int16 => $call!(Int16Type),
            DataType::Int32 => $call!(Int32Type),
            DataType::Int64 => $call!(Int64Type),
            DataType::UInt8 => $call!(UInt8Type),
            DataType::UInt16 => $call!(UInt16Type),
            DataType::UInt32 => $call!(UInt32Type),
            DataType::UInt64 => $call!(UInt64Type),
            DataType::Float32 => $call!(Float32Type),
            DataType::Float64 => $call!(Float64Type),
            DataType::Date32 => $call!(Date32Type),
            DataType::Date64 => $call!(Date64Type),
            DataType::Time32(TimeUnit::Second) => $call!(Time32SecondType),
            DataType::Time32(TimeUnit::Millisecond) => $call!(Time32MillisecondType),
            DataType::Time64(TimeUnit::Microsecond) => $call!(Time64MicrosecondType),
            DataType::Time64(TimeUnit::Nanosecond) => $call!(Time64NanosecondType),
            DataType::Timestamp(TimeUnit::Second, _) => $call!(TimestampSecondType),
            DataType::Timestamp(TimeUnit::Millisecond, _) => $call!(TimestampMillisecondType),
            DataType::Timestamp(TimeUnit::Microsecond, _) => $call!(TimestampMicrosecondType),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => $call!(TimestampNanosecondType),
            DataType::Duration(TimeUnit::Second) => $call!(DurationSecondType),
            DataType::Duration(TimeUnit::Millisecond) => $call!(DurationMillisecondType),
            DataType::Duration(TimeUnit::Microsecond) => $call!(DurationMicrosecondType),
            DataType::Duration(TimeUnit::Nanosecond) => $call!(DurationNanosecondType),
            _ => $otherwise,
        }
    };
}

/// Whether a value of this type fits a word.
pub(super) fn is_fixed(data_type: &DataType) -> bool {
    macro_rules! yes {
        ($t:ty) => {
            true
        };
    }
    *data_type == DataType::Boolean || with_fixed_type!(data_type, yes, false)
}

/// So many rows are looked up at once.
const BLOCK_ROWS: usize = 256;

/// Keys in a hash table are looked at for whether they are numbers close together when there are so many,
/// and whenever there are twice as many.
const FIRST_LOOK: usize = 4096;

/// Keys of `N` words. The NULLs of the columns are bits of a byte beside them, which is kept only
/// from the first NULL on.
#[derive(Debug)]
pub struct FixedKeys<const N: usize> {
    types: [DataType; N],
    table: Table,
    words: Vec<[u64; N]>,
    nulls: Vec<u8>,
    free: FreeSlots,
    seed: u64,
    /// So many keys in a hash table are looked at for whether they are numbers close together.
    next_look: usize,
}

/// Where the slots of keys are found. Whole numbers are in a range as long as they are close enough together
/// and none is NULL; other keys are hashed.
#[derive(Debug)]
enum Table {
    Range(RangeTable),
    Hash(SlotTable),
}

impl<const N: usize> FixedKeys<N> {
    pub(super) fn new(types: [DataType; N]) -> Self {
        let is_number = matches!(&types[..], [one] if !one.is_floating());
        FixedKeys {
            types,
            table: match is_number {
                true => Table::Range(RangeTable::default()),
                false => Table::Hash(SlotTable::default()),
            },
            words: vec![],
            nulls: vec![],
            free: FreeSlots::default(),
            seed: RandomState::new().hash_one(N),
            next_look: if is_number { FIRST_LOOK } else { usize::MAX },
        }
    }

    pub(super) fn slots(&self) -> usize {
        self.words.len()
    }

    pub(super) fn free(&self) -> &[u32] {
        &self.free.0
    }

    pub(super) fn memory_size(&self) -> usize {
        let table = match &self.table {
            Table::Range(table) => table.memory_size(),
            Table::Hash(table) => table.memory_size(),
        };
        table
            + self.words.capacity() * size_of::<[u64; N]>()
            + self.nulls.capacity()
            + self.free.0.capacity() * size_of::<u32>()
    }

    pub(super) fn intern(&mut self, columns: &[ArrayRef], slots: &mut Vec<u32>) -> Result<()> {
        let mut words = Vec::with_capacity(N);
        for (column, data_type) in columns.iter().zip(&self.types) {
            words.push(column_words(column, data_type)?);
        }
        let Some(words) = words.first_chunk::<N>() else {
            return internal_err!("a key of {N} columns came with {}", columns.len());
        };
        let rows = words[0].len();
        if self.nulls.is_empty() && columns.iter().all(|column| column.null_count() == 0) {
            if !self.intern_numbers(&words[0], slots) {
                self.intern_words::<false>(words, &[], rows, slots);
                self.look_for_range();
            }
            return Ok(());
        }
        self.nulls.resize(self.words.len(), 0);
        let mut nulls = vec![0u8; rows];
        for (bit, column) in columns.iter().enumerate() {
            for (row, nulls) in nulls.iter_mut().enumerate() {
                *nulls |= u8::from(column.is_null(row)) << bit;
            }
        }
        self.intern_words::<true>(words, &nulls, rows, slots);
        Ok(())
    }

    /// Interns keys in the range that the keys are in; `false`, and nothing is done, where there is none that
    /// these fit.
    fn intern_numbers(&mut self, numbers: &[u64], slots: &mut Vec<u32>) -> bool {
        let Table::Range(table) = &mut self.table else { return false };
        let start = slots.len();
        slots.extend(numbers.iter().map(|number| table.get(*number as i64)));
        let found = &mut slots[start..];
        let missing = found.iter().filter(|slot| **slot == NO_SLOT).count();
        let new = found.iter().zip(numbers).filter(|(slot, _)| **slot == NO_SLOT);
        let Some(range) = Range::of(new.map(|(_, number)| *number as i64)) else { return true };
        if !table.make_room(range, missing) {
            slots.truncate(start);
            return false;
        }
        for (slot, number) in found.iter_mut().zip(numbers).filter(|(slot, _)| **slot == NO_SLOT) {
            *slot = table.get(*number as i64);
            if *slot == NO_SLOT {
                *slot = self.free.take(self.words.len());
                table.insert(*number as i64, *slot);
                let mut key = [0; N];
                key[0] = *number;
                put_at(&mut self.words, *slot, key);
            }
        }
        true
    }

    /// Works on blocks of rows: first it reads the table's entries for all of them, then the keys that those
    /// point to, so that the processor waits for many at once. Only keys that are not where a search begins
    /// are searched for one by one.
    fn intern_words<const NULLS: bool>(
        &mut self,
        words: &[Vec<u64>; N],
        nulls: &[u8],
        rows: usize,
        slots: &mut Vec<u32>,
    ) {
        let nulls_at = |row: usize| if NULLS { nulls[row] } else { 0 };
        let mut table = self.take_hash_table();
        let mut tags = [0 as Tag; BLOCK_ROWS];
        let mut found = [NO_SLOT; BLOCK_ROWS];
        for start in (0..rows).step_by(BLOCK_ROWS) {
            let block = start..rows.min(start + BLOCK_ROWS);
            for (tag, row) in tags.iter_mut().zip(block.clone()) {
                *tag = SlotTable::tag(hash_key(key_at(words, row), nulls_at(row), self.seed));
            }
            let (found, tags) = (&mut found[..block.len()], &tags[..block.len()]);
            for (found, tag) in found.iter_mut().zip(tags) {
                *found = table.first(*tag);
            }
            let mut are_all_found = true;
            for (found, row) in found.iter_mut().zip(block.clone()) {
                let is_found = self.has_key::<NULLS>(*found, key_at(words, row), nulls_at(row));
                *found = if is_found { *found } else { NO_SLOT };
                are_all_found &= is_found;
            }
            if !are_all_found {
                for ((found, tag), row) in found.iter_mut().zip(tags).zip(block) {
                    if *found == NO_SLOT {
                        *found =
                            self.intern_key::<NULLS>(&mut table, *tag, key_at(words, row), nulls_at(row));
                    }
                }
            }
            slots.extend_from_slice(found);
        }
        self.table = Table::Hash(table);
    }

    /// Whether a slot, if it exists, has this key.
    #[inline]
    fn has_key<const NULLS: bool>(&self, slot: u32, key: [u64; N], nulls: u8) -> bool {
        self.words.get(slot as usize) == Some(&key) && (!NULLS || self.nulls[slot as usize] == nulls)
    }

    fn intern_key<const NULLS: bool>(
        &mut self,
        table: &mut SlotTable,
        tag: Tag,
        key: [u64; N],
        nulls: u8,
    ) -> u32 {
        if let Some(slot) = table.find(tag, |slot| self.has_key::<NULLS>(slot, key, nulls)) {
            return slot;
        }
        let slot = self.free.take(self.words.len());
        table.insert(tag, slot);
        put_at(&mut self.words, slot, key);
        if NULLS {
            put_at(&mut self.nulls, slot, nulls);
        }
        slot
    }

    /// The hash table of all keys, which is put back when it has been used.
    fn take_hash_table(&mut self) -> SlotTable {
        match std::mem::replace(&mut self.table, Table::Hash(SlotTable::default())) {
            Table::Hash(table) => table,
            Table::Range(numbers) => {
                let mut table = SlotTable::default();
                for slot in numbers.slots() {
                    table.insert(SlotTable::tag(hash_key(self.words[slot as usize], 0, self.seed)), slot);
                }
                self.next_look = self.next_look.max(2 * table.len());
                table
            }
        }
    }

    /// Leaves hashing if the keys turn out to be numbers close together: a few of very many are not.
    fn look_for_range(&mut self) {
        let Table::Hash(table) = &self.table else { return };
        let keys = table.len();
        if keys < self.next_look {
            return;
        }
        self.next_look = 2 * keys;
        let numbers = || table.slots().map(|slot| self.words[slot as usize][0] as i64);
        // most keys that lie far apart are known by some of them
        let Some(range) = Range::of(numbers().take(64))
            .filter(|some| some.is_narrow(keys))
            .and_then(|_| Range::of(numbers()))
        else {
            return;
        };
        let mut numbers = RangeTable::default();
        if numbers.make_room(range, keys) {
            table.slots().for_each(|slot| numbers.insert(self.words[slot as usize][0] as i64, slot));
            self.table = Table::Range(numbers);
        }
    }

    pub(super) fn release(&mut self, slots: &[u32]) {
        for slot in slots {
            let key = self.words[*slot as usize];
            let nulls = self.nulls.get(*slot as usize).copied().unwrap_or(0);
            let was_there = match &mut self.table {
                Table::Range(table) => table.remove(key[0] as i64, *slot),
                Table::Hash(table) => table.remove(SlotTable::tag(hash_key(key, nulls, self.seed)), *slot),
            };
            if was_there {
                self.free.0.push(*slot);
            }
        }
    }

    pub(super) fn columns(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let column = |(column, data_type): (usize, &DataType)| {
            let words = slots.iter().map(|slot| self.words[*slot as usize][column]);
            let is_valid = |slot: &u32| self.nulls[*slot as usize] & (1 << column) == 0;
            let nulls = (!self.nulls.is_empty())
                .then(|| NullBuffer::from(slots.iter().map(is_valid).collect::<BooleanBuffer>()))
                .filter(|nulls| nulls.null_count() > 0);
            column_of_words(words, nulls, data_type)
        };
        self.types.iter().enumerate().map(column).collect()
    }
}

/// Puts a value into its slot, the next new one or an old one.
#[inline]
fn put_at<T>(column: &mut Vec<T>, slot: u32, value: T) {
    match column.get_mut(slot as usize) {
        Some(place) => *place = value,
        None => column.push(value),
    }
}

/// The words of a row.
#[inline]
fn key_at<const N: usize>(words: &[Vec<u64>; N], row: usize) -> [u64; N] {
    std::array::from_fn(|column| words[column][row])
}

#[inline]
fn hash_key<const N: usize>(key: [u64; N], nulls: u8, seed: u64) -> u64 {
    key.iter().fold(seed ^ u64::from(nulls), |hash, word| hash_word(*word, hash))
}

/// A value as a word, equal for equal keys, and back.
trait Word: Copy {
    fn to_word(self) -> u64;
    fn from_word(word: u64) -> Self;
}

macro_rules! integer_words {
    ($($native:ty),*) => {
        $(impl Word for $native {
            #[inline]
            fn to_word(self) -> u64 {
                self as u64
            }
            #[inline]
            fn from_word(word: u64) -> Self {
                word as $native
            }
        })*
    };
}

integer_words!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! float_words {
    ($($native:ty: $bits:ty),*) => {
        $(impl Word for $native {
            #[inline]
            fn to_word(self) -> u64 {
                let canonical = if self.is_nan() { <$native>::NAN } else { self };
                u64::from(canonical.to_bits())
            }
            #[inline]
            fn from_word(word: u64) -> Self {
                <$native>::from_bits(word as $bits)
            }
        })*
    };
}

float_words!(f32: u32, f64: u64);

/// The words of a column; 0 for NULL.
fn column_words(column: &ArrayRef, data_type: &DataType) -> Result<Vec<u64>> {
    if column.data_type() != data_type {
        return internal_err!("a key column of type {data_type} came as {}", column.data_type());
    }
    fn words<T: ArrowPrimitiveType>(column: &ArrayRef) -> Vec<u64>
    where
        T::Native: Word,
    {
        let array: &PrimitiveArray<T> = column.as_primitive();
        if array.null_count() == 0 {
            array.values().iter().map(|value| value.to_word()).collect()
        } else {
            array.iter().map(|value| value.map_or(0, Word::to_word)).collect()
        }
    }
    macro_rules! words_of {
        ($t:ty) => {
            Ok(words::<$t>(column))
        };
    }
    if let Some(array) = column.as_boolean_opt() {
        return Ok(array.iter().map(|value| u64::from(value.unwrap_or(false))).collect());
    }
    with_fixed_type!(data_type, words_of, internal_err!("{data_type} does not fit a word"))
}

fn column_of_words(
    words: impl Iterator<Item = u64>,
    nulls: Option<NullBuffer>,
    data_type: &DataType,
) -> Result<ArrayRef> {
    fn column<T: ArrowPrimitiveType>(
        words: impl Iterator<Item = u64>,
        nulls: Option<NullBuffer>,
        data_type: &DataType,
    ) -> ArrayRef
    where
        T::Native: Word,
    {
        let values = words.map(T::Native::from_word).collect();
        Arc::new(PrimitiveArray::<T>::new(values, nulls).with_data_type(data_type.clone()))
    }
    macro_rules! column_of {
        ($t:ty) => {
            Ok(column::<$t>(words, nulls, data_type))
        };
    }
    if *data_type == DataType::Boolean {
        return Ok(Arc::new(BooleanArray::new(words.map(|word| word != 0).collect(), nulls)));
    }
    with_fixed_type!(data_type, column_of, internal_err!("{data_type} does not fit a word"))
}
