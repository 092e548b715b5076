//! Values as members of collections.

use std::borrow::Borrow;
use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion_common::Result;

use super::column::{Element, Values};
use super::java_hash;
use super::text::{TextOutput, TextValues};

/// A family of types by what a collection keeps of their values.
pub(super) trait Members: Debug + Send + Sync + 'static {
    /// A batch of values.
    type Batch;
    /// What a value is looked up by, without owning it.
    type Probe: Ord + Hash + ?Sized;
    /// A value of a batch, as it is looked up.
    type Borrowed<'a>: Borrow<Self::Probe>;
    /// A value as it is kept: in the order of Java's `compareTo`.
    type Key: Ord + Hash + Clone + Debug + Send + Sync + Borrow<Self::Probe>;
    /// What tells one value of a slot from another.
    type Mark: Copy + PartialEq;
    /// Values on their way into an array.
    type Output;

    fn batch(&self, array: &ArrayRef) -> Result<Self::Batch>;

    fn get(batch: &Self::Batch, row: usize) -> Self::Borrowed<'_>;

    fn key(probe: &Self::Probe) -> Self::Key;

    /// The bytes that a key owns.
    fn owned(probe: &Self::Probe) -> usize;

    /// The hash code of the Java object that Flink has of a value; 0 where its order does not matter.
    fn java_hash(_: &Self::Probe) -> i32 {
        0
    }

    /// Whether a value equals itself for Flink when it decides whether a result has changed. NaN does
    /// not, nor does an array with a NULL.
    fn equals_itself(key: &Self::Key) -> bool;

    /// The mark of the value of a slot in a state that has seen so many changes.
    fn mark(value: Option<&Self::Key>, changes: u64) -> Self::Mark;

    /// An output of about `len` values.
    fn output(&self, len: usize) -> Self::Output;

    /// Puts a value into the output. `at` counts up from zero.
    fn put(&self, at: usize, value: Option<&Self::Key>, output: &mut Self::Output);

    fn finish(&self, output: Self::Output, data_type: &DataType) -> Result<ArrayRef>;

    /// An array of values.
    fn collect<'a>(
        &self,
        values: impl ExactSizeIterator<Item = Option<&'a Self::Key>>,
        data_type: &DataType,
    ) -> Result<ArrayRef> {
        let mut output = self.output(values.len());
        for (at, value) in values.enumerate() {
            self.put(at, value, &mut output);
        }
        self.finish(output, data_type)
    }
}

/// Calls `$make` with the family of a type.
macro_rules! dispatch_members {
    ($data_type:expr, $members:ident => $make:expr) => {{
        use arrow::datatypes::DataType;
        use $crate::aggregate::column::dispatch_native;
        use $crate::aggregate::members::{Native, Text};
        use $crate::aggregate::nested::Nested;
        match $data_type {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                let $members = Text;
                $make
            }
            _ => dispatch_native!($data_type, N => {
                let $members = Native::<N>::default();
                $make
            }, _ => {
                let $members = Nested::try_new($data_type)?;
                $make
            }),
        }
    }};
}
pub(super) use dispatch_members;

/// Native values, as integers of their order.
#[derive(Debug)]
pub(super) struct Native<E>(PhantomData<E>);

impl<E> Default for Native<E> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<E: Ordered> Members for Native<E> {
    type Batch = E::Values;
    type Probe = E::Key;
    type Borrowed<'a> = E::Key;
    type Key = E::Key;
    type Mark = Option<E>;
    type Output = Values<E>;

    fn batch(&self, array: &ArrayRef) -> Result<Self::Batch> {
        E::values(array)
    }

    #[inline(always)]
    fn get(batch: &Self::Batch, row: usize) -> E::Key {
        E::get(batch, row).key()
    }

    #[inline(always)]
    fn key(probe: &E::Key) -> E::Key {
        *probe
    }

    #[inline(always)]
    fn owned(_: &E::Key) -> usize {
        0
    }

    fn java_hash(key: &E::Key) -> i32 {
        E::from_key(*key).java_hash()
    }

    #[inline(always)]
    #[expect(clippy::eq_op, reason = "NaN does not equal itself")]
    fn equals_itself(key: &E::Key) -> bool {
        let value = E::from_key(*key);
        value == value
    }

    #[inline(always)]
    fn mark(value: Option<&E::Key>, _: u64) -> Option<E> {
        value.copied().map(E::from_key)
    }

    fn output(&self, len: usize) -> Self::Output {
        Values::new(len)
    }

    #[inline(always)]
    fn put(&self, at: usize, value: Option<&E::Key>, output: &mut Self::Output) {
        output.put(at, value.copied().map(E::from_key));
    }

    fn finish(&self, output: Self::Output, data_type: &DataType) -> Result<ArrayRef> {
        output.finish(data_type)
    }
}

/// Strings, in the order of their bytes.
#[derive(Debug)]
pub(super) struct Text;

impl Members for Text {
    type Batch = TextValues;
    type Probe = str;
    type Borrowed<'a> = &'a str;
    type Key = Box<str>;
    type Mark = u64;
    type Output = TextOutput;

    fn batch(&self, array: &ArrayRef) -> Result<TextValues> {
        TextValues::new(array)
    }

    #[inline]
    fn get(batch: &TextValues, row: usize) -> &str {
        batch.get(row)
    }

    fn key(probe: &str) -> Box<str> {
        probe.into()
    }

    fn owned(probe: &str) -> usize {
        probe.len()
    }

    fn java_hash(probe: &str) -> i32 {
        java_hash::of_string(probe)
    }

    fn equals_itself(_: &Box<str>) -> bool {
        true
    }

    fn mark(_: Option<&Box<str>>, changes: u64) -> u64 {
        changes
    }

    fn output(&self, len: usize) -> TextOutput {
        TextOutput::with_capacity(len)
    }

    fn put(&self, _: usize, value: Option<&Box<str>>, output: &mut TextOutput) {
        output.push(value.map(|value| &**value));
    }

    fn finish(&self, output: TextOutput, data_type: &DataType) -> Result<ArrayRef> {
        output.finish(data_type)
    }
}

/// An element with an integer that has its order: that of Java's `compareTo`, in which `-0.0` is less
/// than `0.0`, and NaN, all of which are one, greater than anything else.
pub(super) trait Ordered: Element {
    type Key: Copy + Ord + Hash + Debug + Send + Sync + 'static;

    fn key(self) -> Self::Key;

    fn from_key(key: Self::Key) -> Self;

    /// See [`Members::java_hash`].
    fn java_hash(self) -> i32 {
        0
    }
}

macro_rules! ordered_integer {
    ($($native:ty => $key:ty),*) => {$(
        impl Ordered for $native {
            type Key = $key;

            #[inline(always)]
            fn key(self) -> $key {
                <$key>::from(self)
            }

            #[inline(always)]
            fn from_key(key: $key) -> Self {
                key as $native
            }
        }
    )*};
}

ordered_integer!(i8 => i64, i16 => i64, i32 => i64, i64 => i64, i128 => i128);
ordered_integer!(u8 => i64, u16 => i64, u32 => i64, u64 => i128);

impl Ordered for bool {
    type Key = i64;

    #[inline(always)]
    fn key(self) -> i64 {
        i64::from(self)
    }

    #[inline(always)]
    fn from_key(key: i64) -> Self {
        key != 0
    }
}

/// Maps the bits of a double to an integer of the same order, and back: the bits of a negative
/// number, which order it by its magnitude, are turned round.
#[inline(always)]
fn order_bits(bits: i64) -> i64 {
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

impl Ordered for f64 {
    type Key = i64;

    #[inline(always)]
    fn key(self) -> i64 {
        order_bits(if self.is_nan() { f64::NAN } else { self }.to_bits() as i64)
    }

    #[inline(always)]
    fn from_key(key: i64) -> Self {
        Self::from_bits(order_bits(key) as u64)
    }

    fn java_hash(self) -> i32 {
        java_hash::of_double(self)
    }
}

impl Ordered for f32 {
    type Key = i64;

    #[inline(always)]
    fn key(self) -> i64 {
        f64::from(self).key()
    }

    #[inline(always)]
    fn from_key(key: i64) -> Self {
        f64::from_key(key) as f32
    }

    fn java_hash(self) -> i32 {
        java_hash::of_float(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_ordered_as_in_java() {
        let sorted =
            [f64::NEG_INFINITY, -1.5, -f64::MIN_POSITIVE, -0.0, 0.0, 1e-300, 2.0, f64::INFINITY, f64::NAN];
        for pair in sorted.windows(2) {
            assert!(pair[0].key() < pair[1].key(), "{pair:?}");
        }
        for value in sorted {
            assert_eq!(f64::from_key(value.key()).to_bits(), value.to_bits());
        }
        assert_eq!((-f64::NAN).key(), f64::NAN.key());
        assert_eq!(f32::from_key(0.1_f32.key()), 0.1);
    }
}
