//! VAR_POP, VAR_SAMP, STDDEV_POP and STDDEV_SAMP.

use std::fmt::Debug;
use std::marker::PhantomData;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Field};
use datafusion_common::{Result, not_impl_err};

use super::arithmetic::{Arithmetic, Decimal, Ieee, Wrapping};
use super::cells::{CellState, Cells};
use super::column::{
    Element, NullableColumn, Values, gather_counts, grow, merge_counts, state_column, vec_size,
};
use super::signature::numeric_argument;
use super::{AggregateArgs, AggregateState, Avg, StreamingAggregate};
use crate::decimal::{self, MAX_PRECISION, Unscaled};

/// `VAR_POP`, `VAR_SAMP`, `STDDEV_POP` and `STDDEV_SAMP` with their short names: the variance of the
/// values of a group that are not NULL, or its square root. The result has the type of AVG.
///
/// As Flink does, and with its losses, they compute
/// `(SUM(x * x) - SUM(x) * SUM(x) / COUNT(x)) / n` in the type of the argument: integers wrap and
/// truncate, FLOATs are rounded to 32 bits, DECIMALs to six digits; `n` is the count, or for a sample
/// one less. The result is told anew by every value, also where it stays.
#[derive(Debug)]
pub struct Statistic {
    name: &'static str,
    aliases: Vec<String>,
    /// Of a sample rather than the population.
    sample: bool,
    /// The standard deviation rather than the variance.
    root: bool,
}

impl Statistic {
    /// All four functions.
    pub fn all() -> [Self; 4] {
        let new = |name, aliases: &[&str], sample, root| Self {
            name,
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            sample,
            root,
        };
        [
            new("var_pop", &[], false, false),
            new("var_samp", &["variance"], true, false),
            new("stddev_pop", &[], false, true),
            new("stddev_samp", &["stddev"], true, true),
        ]
    }
}

impl StreamingAggregate for Statistic {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        numeric_argument(&self.name.to_ascii_uppercase(), arg_types)
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Avg.return_type(arg_types)
    }

    fn has_small_state(&self) -> bool {
        true
    }

    fn state(&self, args: &AggregateArgs<'_>) -> Result<Box<dyn AggregateState>> {
        let (sample, root) = (self.sample, self.root);
        match (args.arg_types, args.return_type) {
            ([DataType::Int8], DataType::Int8) => {
                state(Integers::<i8>::default(), sample, root, args.return_type)
            }
            ([DataType::Int16], DataType::Int16) => {
                state(Integers::<i16>::default(), sample, root, args.return_type)
            }
            ([DataType::Int32], DataType::Int32) => {
                state(Integers::<i32>::default(), sample, root, args.return_type)
            }
            ([DataType::Int64], DataType::Int64) => {
                state(Integers::<i64>::default(), sample, root, args.return_type)
            }
            ([DataType::Float32], DataType::Float32) => {
                state(Floats::<f32>::default(), sample, root, args.return_type)
            }
            ([DataType::Float64], DataType::Float64) => {
                state(Floats::<f64>::default(), sample, root, args.return_type)
            }
            ([DataType::Decimal128(_, from)], DataType::Decimal128(MAX_PRECISION, scale)) => {
                let decimals =
                    Decimals { from: from.unsigned_abs().into(), scale: scale.unsigned_abs().into() };
                state(decimals, sample, root, args.return_type)
            }
            (from, result) => not_impl_err!("{} of {from:?} as {result}", self.name.to_ascii_uppercase()),
        }
    }
}

fn state<V: Variance>(
    variance: V,
    sample: bool,
    root: bool,
    data_type: &DataType,
) -> Result<Box<dyn AggregateState>> {
    CellState::boxed(Statistics {
        arithmetic: variance.arithmetic(),
        variance,
        sample,
        root,
        data_type: data_type.clone(),
        sums: NullableColumn::default(),
        squares: NullableColumn::default(),
        counts: Vec::new(),
    })
}

/// How the variance of one type is computed.
trait Variance: Debug + Send + Sync + 'static {
    type Native: Element;
    type Sum: Arithmetic<Native = Self::Native>;

    fn arithmetic(&self) -> Self::Sum;

    /// A value as it is squared and added. `None`: it does not fit.
    fn widen(&self, value: Self::Native) -> Option<Self::Native>;

    /// `None`: it does not fit.
    fn square(&self, value: Self::Native) -> Option<Self::Native>;

    /// `(squares - sum * sum / count) / n`, or its root. `None`: it does not fit.
    fn result(
        &self,
        squares: Self::Native,
        sum: Self::Native,
        count: i64,
        n: i64,
        root: bool,
    ) -> Option<Self::Native>;
}

#[derive(Debug, Default)]
struct Integers<N>(PhantomData<N>);

macro_rules! integer_variance {
    ($($native:ty => $rounded:ty),*) => {$(
        impl Variance for Integers<$native> {
            type Native = $native;
            type Sum = Wrapping<$native>;

            fn arithmetic(&self) -> Self::Sum {
                Wrapping::default()
            }

            #[inline(always)]
            fn widen(&self, value: $native) -> Option<$native> {
                Some(value)
            }

            #[inline(always)]
            fn square(&self, value: $native) -> Option<$native> {
                Some(value.wrapping_mul(value))
            }

            fn result(&self, squares: $native, sum: $native, count: i64, n: i64, root: bool) -> Option<$native> {
                let mean_square = i64::from(sum.wrapping_mul(sum)).wrapping_div(count);
                let variance = i64::from(squares).wrapping_sub(mean_square).wrapping_div(n);
                // a double stops at the limits of the integer it is cast to, and NaN is zero
                Some(if root { (variance as f64).powf(0.5) as $rounded as $native } else { variance as $native })
            }
        }
    )*};
}

integer_variance!(i8 => i32, i16 => i32, i32 => i32, i64 => i64);

#[derive(Debug, Default)]
struct Floats<N>(PhantomData<N>);

macro_rules! float_variance {
    ($($native:ty),*) => {$(
        impl Variance for Floats<$native> {
            type Native = $native;
            type Sum = Ieee<$native>;

            fn arithmetic(&self) -> Self::Sum {
                Ieee::default()
            }

            #[inline(always)]
            fn widen(&self, value: $native) -> Option<$native> {
                Some(value)
            }

            #[inline(always)]
            fn square(&self, value: $native) -> Option<$native> {
                Some(value * value)
            }

            fn result(&self, squares: $native, sum: $native, count: i64, n: i64, root: bool) -> Option<$native> {
                let variance = (squares - sum * sum / count as $native) / n as $native;
                Some(if root { f64::from(variance).powf(0.5) as $native } else { variance })
            }
        }
    )*};
}

float_variance!(f32, f64);

/// Decimals of a scale, computed as DECIMAL(38, scale of the result).
#[derive(Debug)]
struct Decimals {
    from: u32,
    scale: u32,
}

impl Decimals {
    fn fit(value: Option<i128>) -> Option<i128> {
        value.filter(|&value| decimal::fits(value, MAX_PRECISION))
    }

    fn scale(&self) -> i32 {
        self.scale as i32
    }
}

impl Variance for Decimals {
    type Native = i128;
    type Sum = Decimal;

    fn arithmetic(&self) -> Decimal {
        Decimal::new(MAX_PRECISION)
    }

    fn widen(&self, value: i128) -> Option<i128> {
        let value = Unscaled { value, scale: self.from };
        Self::fit(decimal::add(value, Unscaled { value: 0, scale: self.from }, self.scale()))
    }

    fn square(&self, value: i128) -> Option<i128> {
        let value = Unscaled { value, scale: self.scale };
        Self::fit(decimal::multiply(value, value, self.scale()))
    }

    fn result(&self, squares: i128, sum: i128, count: i64, n: i64, root: bool) -> Option<i128> {
        let mean_square = decimal::divide(self.square(sum)?, i128::from(count), 0)?;
        let variance = decimal::divide(squares.checked_sub(mean_square)?, i128::from(n), 0)?;
        if root {
            decimal::from_f64(decimal::to_f64(variance, self.scale).powf(0.5), self.scale)
        } else {
            Some(variance)
        }
    }
}

/// The sums of all groups.
#[derive(Debug)]
struct Statistics<V: Variance> {
    variance: V,
    arithmetic: V::Sum,
    sample: bool,
    root: bool,
    data_type: DataType,
    sums: NullableColumn<V::Native>,
    squares: NullableColumn<V::Native>,
    counts: Vec<i64>,
}

impl<V: Variance> Statistics<V> {
    fn change(&mut self, slot: usize, value: V::Native, add: bool) {
        let Some(value) = self.variance.widen(value) else { return };
        let arithmetic = self.arithmetic;
        let change = |sums: &mut NullableColumn<V::Native>, value: V::Native| match sums.get(slot) {
            Some(sum) if add => sums.update(slot, arithmetic.plus(sum, value)),
            Some(sum) => sums.update(slot, arithmetic.minus(sum, value)),
            None if add => sums.set(slot, value),
            None => sums.set(slot, arithmetic.minus(V::Native::default(), value)?),
        };
        change(&mut self.sums, value);
        if let Some(square) = self.variance.square(value) {
            change(&mut self.squares, square);
        }
        let count = &mut self.counts[slot];
        *count = count.wrapping_add(if add { 1 } else { -1 });
    }

    fn result(&self, value: Moments<V::Native>) -> Option<V::Native> {
        let n = if self.sample { value.count - 1 } else { value.count };
        if value.count == 0 || n == 0 {
            return None;
        }
        self.variance.result(value.squares?, value.sum?, value.count, n, self.root)
    }
}

/// What is kept of a group. Flink compares it, not the result, to find what has changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Moments<N> {
    squares: Option<N>,
    sum: Option<N>,
    count: i64,
}

impl<V: Variance> Cells for Statistics<V> {
    type Args = <V::Native as Element>::Values;
    type Value = Moments<V::Native>;
    type Output = Values<V::Native>;

    fn args(&mut self, args: &[ArrayRef]) -> Result<Self::Args> {
        V::Native::values(state_column(args, 0)?)
    }

    #[inline]
    fn add(&mut self, slot: usize, _: Self::Value, args: &Self::Args, row: usize) -> Self::Value {
        self.change(slot, V::Native::get(args, row), true);
        self.value(slot)
    }

    #[inline]
    fn retract(&mut self, slot: usize, _: Self::Value, args: &Self::Args, row: usize) -> Self::Value {
        self.change(slot, V::Native::get(args, row), false);
        self.value(slot)
    }

    #[inline]
    fn value(&self, slot: usize) -> Self::Value {
        Moments { squares: self.squares.get(slot), sum: self.sums.get(slot), count: self.counts[slot] }
    }

    fn output(&self, len: usize) -> Self::Output {
        Values::new(len)
    }

    #[inline]
    fn put(&self, at: usize, _: usize, value: Self::Value, output: &mut Self::Output) {
        output.put(at, self.result(value));
    }

    fn finish(&self, output: Self::Output) -> Result<ArrayRef> {
        output.finish(&self.data_type)
    }

    fn grow(&mut self, slots: usize) {
        self.sums.grow(slots);
        self.squares.grow(slots);
        grow(&mut self.counts, slots);
    }

    fn clear(&mut self, slot: usize) {
        self.sums.clear(slot);
        self.squares.clear(slot);
        self.counts[slot] = 0;
    }

    fn state_fields(&self) -> Vec<Field> {
        vec![
            Field::new("sum", self.data_type.clone(), true),
            Field::new("squares", self.data_type.clone(), true),
            Field::new("count", DataType::Int64, false),
        ]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        Ok(vec![
            self.sums.gather(slots, &self.data_type)?,
            self.squares.gather(slots, &self.data_type)?,
            gather_counts(&self.counts, slots),
        ])
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        for (index, column) in [&mut self.sums, &mut self.squares].into_iter().enumerate() {
            let merged = state_column(state, index)?;
            let values = V::Native::values(merged)?;
            for (row, &slot) in slots.iter().enumerate().filter(|&(row, _)| merged.is_valid(row)) {
                let (slot, value) = (slot as usize, V::Native::get(&values, row));
                match column.get(slot) {
                    Some(sum) => column.update(slot, self.arithmetic.plus(sum, value)),
                    None => column.set(slot, value),
                };
            }
        }
        merge_counts(&mut self.counts, slots, state_column(state, 2)?)
    }

    fn memory_size(&self) -> usize {
        self.sums.memory_size() + self.squares.memory_size() + vec_size(&self.counts)
    }
}
