//! Key groups: the unit in which keyed state moves between subtasks.
//!
//! A key's group is a hash of its values, the same on every machine and in every version, since
//! checkpoints are cut by it. A subtask owns a contiguous range of groups, as in Flink.

use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, PrimitiveArray};
use arrow::datatypes::{ArrowPrimitiveType, DataType, IntervalDayTime, IntervalMonthDayNano, i256};
use arrow::downcast_primitive_array;
use arrow::row::{RowConverter, SortField};
use datafusion_common::Result;

/// The number of key groups, and so the largest parallelism: Flink's default for small jobs.
pub const MAX_PARALLELISM: usize = 128;

/// The subtask, of `parallelism`, that owns a key group.
pub fn subtask_of(key_group: u16, parallelism: usize) -> usize {
    usize::from(key_group) * parallelism / MAX_PARALLELISM
}

/// The key groups that a subtask owns.
pub fn groups_of(subtask: usize, parallelism: usize) -> Range<u16> {
    let first = |subtask: usize| (subtask * MAX_PARALLELISM).div_ceil(parallelism) as u16;
    first(subtask)..first(subtask + 1)
}

/// The key group of each row of the key columns; 0 for all rows where there is no key.
pub fn key_groups(keys: &[ArrayRef], rows: usize) -> Result<Vec<u16>> {
    if keys.is_empty() {
        return Ok(vec![0; rows]);
    }
    let hashes = stable_hashes(keys, rows)?;
    Ok(hashes.into_iter().map(|hash| (mix(hash) % MAX_PARALLELISM as u64) as u16).collect())
}

/// The bits of a key id below its key group.
const ID_BITS: u32 = u64::BITS - MAX_PARALLELISM.trailing_zeros();

/// A number for the key of each row: the key group above as many bits of the key's hash as there is
/// room for. Ids are ordered by key group. Two keys may have the same id.
pub fn key_ids(keys: &[ArrayRef], rows: usize) -> Result<Vec<u64>> {
    let hashes = stable_hashes(keys, rows)?;
    let id = |hash: u64| (mix(hash) % MAX_PARALLELISM as u64) << ID_BITS | hash >> (u64::BITS - ID_BITS);
    Ok(hashes.into_iter().map(id).collect())
}

/// The ids of the keys of some key groups.
pub fn ids_of(groups: Range<u16>) -> Range<u128> {
    u128::from(groups.start) << ID_BITS..u128::from(groups.end) << ID_BITS
}

/// A hash of each row of some columns that is the same on every machine and in every version.
pub fn stable_hashes(columns: &[ArrayRef], rows: usize) -> Result<Vec<u64>> {
    let mut hashes = vec![0u64; rows];
    for column in columns {
        hash_column(column, &mut hashes)?;
    }
    Ok(hashes)
}

/// Folds a column into the hashes of its rows.
fn hash_column(column: &ArrayRef, hashes: &mut [u64]) -> Result<()> {
    let array = column.as_ref();
    downcast_primitive_array!(
        array => hash_primitive(array, hashes),
        DataType::Boolean => hash_values(array.as_boolean(), hashes, |array: &BooleanArray, row| u64::from(array.value(row))),
        DataType::Utf8 => hash_values(array.as_string::<i32>(), hashes, |array, row| hash_bytes(array.value(row).as_bytes())),
        DataType::LargeUtf8 => hash_values(array.as_string::<i64>(), hashes, |array, row| hash_bytes(array.value(row).as_bytes())),
        DataType::Utf8View => hash_values(array.as_string_view(), hashes, |array, row| hash_bytes(array.value(row).as_bytes())),
        DataType::Binary => hash_values(array.as_binary::<i32>(), hashes, |array, row| hash_bytes(array.value(row))),
        _ => {
            let converter = RowConverter::new(vec![SortField::new(column.data_type().clone())])?;
            let rows = converter.convert_columns(std::slice::from_ref(column))?;
            for (hash, row) in hashes.iter_mut().zip(rows.iter()) {
                *hash = mix(*hash ^ hash_bytes(row.as_ref()));
            }
        }
    );
    Ok(())
}

fn hash_primitive<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, hashes: &mut [u64])
where
    T::Native: StableBits,
{
    if array.null_count() == 0 {
        for (hash, value) in hashes.iter_mut().zip(array.values()) {
            *hash = mix(*hash ^ value.stable_bits());
        }
    } else {
        hash_values(array, hashes, |array, row| array.value(row).stable_bits());
    }
}

fn hash_values<A: Array>(array: &A, hashes: &mut [u64], value: impl Fn(&A, usize) -> u64) {
    for (row, hash) in hashes.iter_mut().enumerate() {
        let bits = if array.is_null(row) { NULL_BITS } else { value(array, row) };
        *hash = mix(*hash ^ bits);
    }
}

const NULL_BITS: u64 = 0x6e75_6c6c;

/// The finaliser of splitmix64, with an offset so that zero does not stay zero.
fn mix(bits: u64) -> u64 {
    let z = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hash = bytes.len() as u64;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        hash = mix(hash ^ u64::from_le_bytes(word.try_into().unwrap_or_default()));
    }
    let mut tail = [0u8; 8];
    tail[..words.remainder().len()].copy_from_slice(words.remainder());
    mix(hash ^ u64::from_le_bytes(tail))
}

/// The bits of a value that its hash is made of: equal for equal keys (all NaNs are one key).
trait StableBits {
    fn stable_bits(self) -> u64;
}

macro_rules! integer_bits {
    ($($native:ty),*) => {
        $(impl StableBits for $native {
            fn stable_bits(self) -> u64 {
                self as u64
            }
        })*
    };
}

integer_bits!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! float_bits {
    ($($native:ty),*) => {
        $(impl StableBits for $native {
            fn stable_bits(self) -> u64 {
                if self.is_nan() { 0x7ff8 } else { u64::from(self.to_bits()) }
            }
        })*
    };
}

float_bits!(half::f16, f32, f64);

impl StableBits for i128 {
    fn stable_bits(self) -> u64 {
        self as u64 ^ mix((self >> 64) as u64)
    }
}

impl StableBits for i256 {
    fn stable_bits(self) -> u64 {
        let (low, high) = self.to_parts();
        (low as i128).stable_bits() ^ mix(high.stable_bits())
    }
}

impl StableBits for IntervalDayTime {
    fn stable_bits(self) -> u64 {
        (i64::from(self.days) << 32 | i64::from(self.milliseconds as u32)) as u64
    }
}

impl StableBits for IntervalMonthDayNano {
    fn stable_bits(self) -> u64 {
        self.nanoseconds as u64 ^ mix((i64::from(self.months) << 32 | i64::from(self.days as u32)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Float64Array, Int64Array, StringArray};

    use super::*;

    #[test]
    fn every_group_has_the_owner_whose_range_holds_it() {
        for parallelism in [1, 2, 3, 4, 7, 128] {
            for group in 0..MAX_PARALLELISM as u16 {
                assert!(groups_of(subtask_of(group, parallelism), parallelism).contains(&group));
            }
        }
    }

    #[test]
    fn groups_are_stable_and_spread() -> Result<()> {
        let ints: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10_000));
        let groups = key_groups(&[ints], 10_000)?;
        let mut counts = [0; MAX_PARALLELISM];
        for group in &groups {
            counts[usize::from(*group)] += 1;
        }
        assert!(counts.iter().all(|count| (40..130).contains(count)), "{counts:?}");
        // pinned: checkpoints depend on these
        assert_eq!(groups[..4], [111, 30, 52, 23]);
        let text: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("")]));
        assert_eq!(key_groups(&[text], 3)?, [95, 15, 17]);
        Ok(())
    }

    #[test]
    fn ids_lie_in_the_range_of_their_groups() -> Result<()> {
        let ints: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1_000));
        let (groups, ids) = (key_groups(&[Arc::clone(&ints)], 1_000)?, key_ids(&[ints], 1_000)?);
        for (group, id) in groups.iter().zip(&ids) {
            assert!(ids_of(*group..group + 1).contains(&u128::from(*id)));
        }
        let mut distinct = ids;
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 1_000);
        Ok(())
    }

    #[test]
    fn all_nans_are_one_key() -> Result<()> {
        let nans = vec![f64::NAN, -f64::NAN, f64::from_bits(0x7ff8_0000_0000_0001)];
        let groups = key_groups(&[Arc::new(Float64Array::from(nans))], 3)?;
        assert!(groups.iter().all(|group| *group == groups[0]));
        assert_eq!(key_groups(&[], 2)?, [0, 0]);
        Ok(())
    }
}
