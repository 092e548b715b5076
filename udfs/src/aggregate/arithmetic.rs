//! How the numbers of each type add up.

use std::fmt::Debug;
use std::marker::PhantomData;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use datafusion_common::Result;

use super::column::{Element, Values, grow, vec_size};
use crate::decimal;

/// Addition of one native type by Flink's rules.
pub(super) trait Arithmetic: Copy + Debug + Send + Sync + 'static {
    type Native: Element;

    /// What a [`Totals`] column holds for a sum that has overflown, if sums can.
    const OVERFLOWN: Option<Self::Native> = None;

    /// `a + b`, `None` on overflow.
    fn plus(&self, a: Self::Native, b: Self::Native) -> Option<Self::Native>;

    /// `a - b`, `None` on overflow.
    fn minus(&self, a: Self::Native, b: Self::Native) -> Option<Self::Native>;
}

/// Integers: they wrap in their own width.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wrapping<N>(PhantomData<N>);

macro_rules! wrapping_arithmetic {
    ($($native:ty),*) => {$(
        impl Arithmetic for Wrapping<$native> {
            type Native = $native;

            #[inline(always)]
            fn plus(&self, a: $native, b: $native) -> Option<$native> {
                Some(a.wrapping_add(b))
            }

            #[inline(always)]
            fn minus(&self, a: $native, b: $native) -> Option<$native> {
                Some(a.wrapping_sub(b))
            }
        }
    )*};
}

wrapping_arithmetic!(i8, i16, i32, i64, u8, u16, u32, u64);

/// Floating-point numbers, in their own width.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ieee<N>(PhantomData<N>);

macro_rules! ieee_arithmetic {
    ($($native:ty),*) => {$(
        impl Arithmetic for Ieee<$native> {
            type Native = $native;

            #[inline(always)]
            fn plus(&self, a: $native, b: $native) -> Option<$native> {
                Some(a + b)
            }

            #[inline(always)]
            fn minus(&self, a: $native, b: $native) -> Option<$native> {
                Some(a - b)
            }
        }
    )*};
}

ieee_arithmetic!(f32, f64);

/// Decimals of one scale, with the least number of too many digits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decimal {
    limit: i128,
}

impl Decimal {
    /// Sums of at most `precision` digits.
    pub(super) fn new(precision: u8) -> Self {
        Self { limit: decimal::limit(precision) }
    }

    fn fit(&self, sum: i128) -> Option<i128> {
        (-self.limit < sum && sum < self.limit).then_some(sum)
    }
}

impl Arithmetic for Decimal {
    type Native = i128;

    const OVERFLOWN: Option<i128> = Some(i128::MAX);

    #[inline(always)]
    fn plus(&self, a: i128, b: i128) -> Option<i128> {
        self.fit(a.checked_add(b)?)
    }

    #[inline(always)]
    fn minus(&self, a: i128, b: i128) -> Option<i128> {
        self.fit(a.checked_sub(b)?)
    }
}

/// Evaluates `$make` with the [`Arithmetic`] of a type.
macro_rules! dispatch_arithmetic {
    ($data_type:expr, $arithmetic:ident => $make:expr, $other:ident => $none:expr) => {{
        use arrow::datatypes::DataType;
        use $crate::aggregate::arithmetic::{Decimal, Ieee, Wrapping};
        match $data_type {
            DataType::Int8 => {
                let $arithmetic = Wrapping::<i8>::default();
                $make
            }
            DataType::Int16 => {
                let $arithmetic = Wrapping::<i16>::default();
                $make
            }
            DataType::Int32 => {
                let $arithmetic = Wrapping::<i32>::default();
                $make
            }
            DataType::Int64 | DataType::Duration(_) => {
                let $arithmetic = Wrapping::<i64>::default();
                $make
            }
            DataType::UInt8 => {
                let $arithmetic = Wrapping::<u8>::default();
                $make
            }
            DataType::UInt16 => {
                let $arithmetic = Wrapping::<u16>::default();
                $make
            }
            DataType::UInt32 => {
                let $arithmetic = Wrapping::<u32>::default();
                $make
            }
            DataType::UInt64 => {
                let $arithmetic = Wrapping::<u64>::default();
                $make
            }
            DataType::Float32 => {
                let $arithmetic = Ieee::<f32>::default();
                $make
            }
            DataType::Float64 => {
                let $arithmetic = Ieee::<f64>::default();
                $make
            }
            DataType::Decimal128(precision, _) => {
                let $arithmetic = Decimal::new(*precision);
                $make
            }
            $other => $none,
        }
    }};
}
pub(super) use dispatch_arithmetic;

/// Sums that start at zero, by slot. One that has overflown stays so until its slot is cleared.
#[derive(Debug)]
pub(super) struct Totals<A: Arithmetic> {
    arithmetic: A,
    sums: Vec<A::Native>,
}

impl<A: Arithmetic> Totals<A> {
    pub(super) fn new(arithmetic: A) -> Self {
        Self { arithmetic, sums: Vec::new() }
    }

    /// The sum of a slot, `None` where it has overflown.
    #[inline(always)]
    pub(super) fn get(&self, slot: usize) -> Option<A::Native> {
        let sum = self.sums[slot];
        (A::OVERFLOWN != Some(sum)).then_some(sum)
    }

    /// Adds a value to a slot that has the sum `sum`. Returns the sum after it.
    #[inline(always)]
    pub(super) fn plus(
        &mut self,
        slot: usize,
        sum: Option<A::Native>,
        value: A::Native,
    ) -> Option<A::Native> {
        self.set(slot, sum.and_then(|sum| self.arithmetic.plus(sum, value)))
    }

    /// Subtracts a value from a slot that has the sum `sum`. Returns the sum after it.
    #[inline(always)]
    pub(super) fn minus(
        &mut self,
        slot: usize,
        sum: Option<A::Native>,
        value: A::Native,
    ) -> Option<A::Native> {
        self.set(slot, sum.and_then(|sum| self.arithmetic.minus(sum, value)))
    }

    #[inline(always)]
    fn set(&mut self, slot: usize, sum: Option<A::Native>) -> Option<A::Native> {
        if let Some(sum) = sum.or(A::OVERFLOWN) {
            self.sums[slot] = sum;
        }
        sum
    }

    /// Adds a sum of another state, `None` for one that has overflown.
    fn merge_sum(&mut self, slot: usize, sum: Option<A::Native>) {
        match sum {
            Some(sum) => self.plus(slot, self.get(slot), sum),
            None => self.set(slot, None),
        };
    }

    /// Adds sums of another state, the array of [`Totals::gather`].
    pub(super) fn merge(&mut self, slots: &[u32], sums: &ArrayRef) -> Result<()> {
        let values = A::Native::values(sums)?;
        for (row, &slot) in slots.iter().enumerate() {
            let sum = sums.is_valid(row).then(|| A::Native::get(&values, row));
            self.merge_sum(slot as usize, sum);
        }
        Ok(())
    }

    /// Adds the sums of the slots `from` to those of `into`.
    pub(super) fn merge_slots(&mut self, into: &[u32], from: &[u32]) {
        for (&into, &from) in into.iter().zip(from) {
            self.merge_sum(into as usize, self.get(from as usize));
        }
    }

    /// The sums of `slots` as an array of `data_type`, NULL where they have overflown.
    pub(super) fn gather(&self, slots: &[u32], data_type: &DataType) -> Result<ArrayRef> {
        Values::collect(slots.iter().map(|&slot| self.get(slot as usize)), data_type)
    }

    pub(super) fn grow(&mut self, slots: usize) {
        grow(&mut self.sums, slots);
    }

    pub(super) fn clear(&mut self, slot: usize) {
        self.sums[slot] = A::Native::default();
    }

    pub(super) fn memory_size(&self) -> usize {
        vec_size(&self.sums)
    }
}
