//! AVG.

use std::fmt::Debug;
use std::marker::PhantomData;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field};
use datafusion_common::{Result, not_impl_err, plan_err};

use super::arithmetic::{Arithmetic, Decimal, Ieee, Totals, Wrapping};
use super::cells::{CellState, Cells};
use super::column::{
    Element, Values, gather_counts, grow, merge_counts, merge_slot_counts, state_column, vec_size,
};
use super::signature::numeric_argument;
use super::{AggregateArgs, AggregateKind, AggregateState, StreamingAggregate};
use crate::decimal::{self, MAX_PRECISION};

/// The least scale of the mean of decimals.
const MIN_MEAN_SCALE: i8 = 6;

/// `AVG`: the mean of integers is of their type and truncated toward zero, their sum is kept in 64
/// bits and wraps. FLOATs are added in 64 bits. The mean of a DECIMAL(p, s) is a
/// DECIMAL(38, max(s, 6)), rounded half up; once the sum has more than 38 digits it is NULL until
/// the group has gone.
#[derive(Debug)]
pub struct Avg;

impl StreamingAggregate for Avg {
    fn name(&self) -> &str {
        "avg"
    }

    fn kind(&self) -> AggregateKind {
        AggregateKind::Avg
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        numeric_argument("AVG", arg_types)
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types {
            // Flink starts the sum with a zero of this type, which has no digit left for it
            [DataType::Decimal128(_, scale)] if *scale == MAX_PRECISION as i8 => {
                plan_err!(
                    "AVG cannot convert 0 to DECIMAL(38, 38) due to overflow. Cast the argument to a smaller scale"
                )
            }
            [DataType::Decimal128(_, scale)] => {
                Ok(DataType::Decimal128(MAX_PRECISION, (*scale).max(MIN_MEAN_SCALE)))
            }
            [other] => Ok(other.clone()),
            _ => plan_err!("AVG takes one argument"),
        }
    }

    fn has_small_state(&self) -> bool {
        true
    }

    fn state(&self, args: &AggregateArgs<'_>) -> Result<Box<dyn AggregateState>> {
        let result = args.return_type;
        match (args.arg_types, result) {
            ([DataType::Int8], DataType::Int8) => {
                state(IntegerMean::<i8>::default(), DataType::Int64, result)
            }
            ([DataType::Int16], DataType::Int16) => {
                state(IntegerMean::<i16>::default(), DataType::Int64, result)
            }
            ([DataType::Int32], DataType::Int32) => {
                state(IntegerMean::<i32>::default(), DataType::Int64, result)
            }
            ([DataType::Int64], DataType::Int64) | ([DataType::Duration(_)], DataType::Duration(_)) => {
                state(IntegerMean::<i64>::default(), DataType::Int64, result)
            }
            ([DataType::Float32], DataType::Float32) => {
                state(FloatMean::<f32>::default(), DataType::Float64, result)
            }
            ([DataType::Float64], DataType::Float64) => {
                state(FloatMean::<f64>::default(), DataType::Float64, result)
            }
            ([DataType::Decimal128(_, from)], DataType::Decimal128(precision, to)) => {
                let mean = DecimalMean { shift: i32::from(*to) - i32::from(*from), precision: *precision };
                state(mean, DataType::Decimal128(MAX_PRECISION, *from), result)
            }
            (from, _) => not_impl_err!("AVG of {from:?} as {result}"),
        }
    }
}

fn state<M: Mean>(mean: M, sum_type: DataType, result: &DataType) -> Result<Box<dyn AggregateState>> {
    let totals = Totals::new(mean.arithmetic());
    CellState::boxed(AvgCells { mean, totals, counts: Vec::new(), data_type: result.clone(), sum_type })
}

/// How the mean of one type is computed.
trait Mean: Copy + Debug + Send + Sync + 'static {
    /// The type of arguments and result.
    type Native: Element;
    /// How the values are added.
    type Sum: Arithmetic;

    fn arithmetic(&self) -> Self::Sum;

    /// A value as it is added.
    fn widen(value: Self::Native) -> <Self::Sum as Arithmetic>::Native;

    /// The mean, `count` is not 0. `None`: it does not fit.
    fn quotient(&self, sum: <Self::Sum as Arithmetic>::Native, count: i64) -> Option<Self::Native>;
}

#[derive(Debug, Clone, Copy, Default)]
struct IntegerMean<N>(PhantomData<N>);

macro_rules! integer_mean {
    ($($native:ty),*) => {$(
        impl Mean for IntegerMean<$native> {
            type Native = $native;
            type Sum = Wrapping<i64>;

            fn arithmetic(&self) -> Wrapping<i64> {
                Wrapping::default()
            }

            #[inline(always)]
            fn widen(value: $native) -> i64 {
                i64::from(value)
            }

            #[inline(always)]
            fn quotient(&self, sum: i64, count: i64) -> Option<$native> {
                Some(sum.wrapping_div(count) as $native)
            }
        }
    )*};
}

integer_mean!(i8, i16, i32, i64);

#[derive(Debug, Clone, Copy, Default)]
struct FloatMean<N>(PhantomData<N>);

macro_rules! float_mean {
    ($($native:ty),*) => {$(
        impl Mean for FloatMean<$native> {
            type Native = $native;
            type Sum = Ieee<f64>;

            fn arithmetic(&self) -> Ieee<f64> {
                Ieee::default()
            }

            #[inline(always)]
            fn widen(value: $native) -> f64 {
                f64::from(value)
            }

            #[inline(always)]
            fn quotient(&self, sum: f64, count: i64) -> Option<$native> {
                Some((sum / count as f64) as $native)
            }
        }
    )*};
}

float_mean!(f32, f64);

#[derive(Debug, Clone, Copy)]
struct DecimalMean {
    /// By how much the scale of the mean exceeds that of the values.
    shift: i32,
    /// The digits of the mean.
    precision: u8,
}

impl Mean for DecimalMean {
    type Native = i128;
    type Sum = Decimal;

    fn arithmetic(&self) -> Decimal {
        Decimal::new(MAX_PRECISION)
    }

    #[inline(always)]
    fn widen(value: i128) -> i128 {
        value
    }

    #[inline]
    fn quotient(&self, sum: i128, count: i64) -> Option<i128> {
        let mean = decimal::divide(sum, i128::from(count), self.shift)?;
        decimal::fits(mean, self.precision).then_some(mean)
    }
}

#[derive(Debug)]
struct AvgCells<M: Mean> {
    mean: M,
    totals: Totals<M::Sum>,
    /// The values that are not NULL.
    counts: Vec<i64>,
    data_type: DataType,
    sum_type: DataType,
}

impl<M: Mean> AvgCells<M> {
    #[inline(always)]
    fn mean(&self, sum: Option<<M::Sum as Arithmetic>::Native>, count: i64) -> Option<M::Native> {
        if count == 0 { None } else { self.mean.quotient(sum?, count) }
    }
}

impl<M: Mean> Cells for AvgCells<M> {
    type Args = <M::Native as Element>::Values;
    type Value = Option<M::Native>;
    type Output = Values<M::Native>;

    fn args(&mut self, args: &[ArrayRef]) -> Result<Self::Args> {
        M::Native::values(state_column(args, 0)?)
    }

    #[inline(always)]
    fn add(&mut self, slot: usize, _: Self::Value, args: &Self::Args, row: usize) -> Self::Value {
        let value = M::widen(M::Native::get(args, row));
        let sum = self.totals.plus(slot, self.totals.get(slot), value);
        let count = self.counts[slot].wrapping_add(1);
        self.counts[slot] = count;
        self.mean(sum, count)
    }

    #[inline(always)]
    fn retract(&mut self, slot: usize, _: Self::Value, args: &Self::Args, row: usize) -> Self::Value {
        let value = M::widen(M::Native::get(args, row));
        let sum = self.totals.minus(slot, self.totals.get(slot), value);
        let count = self.counts[slot].wrapping_sub(1);
        self.counts[slot] = count;
        self.mean(sum, count)
    }

    #[inline(always)]
    fn value(&self, slot: usize) -> Option<M::Native> {
        self.mean(self.totals.get(slot), self.counts[slot])
    }

    fn output(&self, len: usize) -> Self::Output {
        Values::new(len)
    }

    #[inline(always)]
    fn put(&self, at: usize, _: usize, value: Option<M::Native>, output: &mut Self::Output) {
        output.put(at, value);
    }

    fn finish(&self, output: Self::Output) -> Result<ArrayRef> {
        output.finish(&self.data_type)
    }

    fn grow(&mut self, slots: usize) {
        self.totals.grow(slots);
        grow(&mut self.counts, slots);
    }

    fn clear(&mut self, slot: usize) {
        self.totals.clear(slot);
        self.counts[slot] = 0;
    }

    fn state_fields(&self) -> Vec<Field> {
        vec![Field::new("sum", self.sum_type.clone(), true), Field::new("count", DataType::Int64, false)]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.totals.gather(slots, &self.sum_type)?, gather_counts(&self.counts, slots)])
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        self.totals.merge(slots, state_column(state, 0)?)?;
        merge_counts(&mut self.counts, slots, state_column(state, 1)?)
    }

    fn merge_slots(&mut self, into: &[u32], from: &[u32]) -> Result<()> {
        self.totals.merge_slots(into, from);
        merge_slot_counts(&mut self.counts, into, from);
        Ok(())
    }

    fn memory_size(&self) -> usize {
        self.totals.memory_size() + vec_size(&self.counts)
    }
}
