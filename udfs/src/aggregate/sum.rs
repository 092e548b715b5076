//! SUM.

use std::fmt::Debug;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Field};
use datafusion_common::{Result, not_impl_err};

use super::arithmetic::{Arithmetic, dispatch_arithmetic};
use super::cells::{CellState, Cells, Retraction};
use super::column::{
    Element, NullableColumn, Values, gather_counts, grow, merge_counts, merge_slot_counts, state_column,
    vec_size,
};
use super::signature::numeric_argument;
use super::{AggregateArgs, AggregateKind, AggregateState, StreamingAggregate};
use crate::decimal::MAX_PRECISION;

/// `SUM`: an integer keeps its type and wraps, a FLOAT is added in 32 bits, a DECIMAL(p, s) becomes
/// a DECIMAL(38, s).
///
/// A decimal sum that does not fit is NULL, and the next value starts the sum anew. The sum of no
/// value is NULL, also when all values have been retracted.
#[derive(Debug)]
pub struct Sum;

impl StreamingAggregate for Sum {
    fn name(&self) -> &str {
        "sum"
    }

    fn kind(&self) -> AggregateKind {
        AggregateKind::Sum
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        numeric_argument("SUM", arg_types)
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(sum_type(arg_types))
    }

    /// A DECIMAL may overflow, and a DISTINCT sum of floats may swallow a value.
    fn value_is_state(&self, _distinct: bool, return_type: &DataType) -> bool {
        return_type.is_integer()
    }

    fn has_small_state(&self) -> bool {
        true
    }

    fn state(&self, args: &AggregateArgs<'_>) -> Result<Box<dyn AggregateState>> {
        dispatch_arithmetic!(args.return_type, arithmetic => {
            if args.retracting {
                CellState::boxed(RetractableSum::new(arithmetic, args.return_type))
            } else {
                CellState::boxed(InsertOnlySum::new(arithmetic, args.return_type))
            }
        }, other => not_impl_err!("SUM of {other}"))
    }
}

/// The type of a sum by Flink's rules.
pub(super) fn sum_type(arg_types: &[DataType]) -> DataType {
    match arg_types.first() {
        Some(DataType::Decimal128(_, scale)) => DataType::Decimal128(MAX_PRECISION, *scale),
        Some(other) => other.clone(),
        None => DataType::Null,
    }
}

/// Sums of values that are never retracted.
#[derive(Debug)]
struct InsertOnlySum<A: Arithmetic> {
    arithmetic: A,
    data_type: DataType,
    sums: NullableColumn<A::Native>,
}

impl<A: Arithmetic> InsertOnlySum<A> {
    fn new(arithmetic: A, data_type: &DataType) -> Self {
        Self { arithmetic, data_type: data_type.clone(), sums: NullableColumn::default() }
    }

    #[inline(always)]
    fn plus(&mut self, slot: usize, sum: Option<A::Native>, value: A::Native) -> Option<A::Native> {
        match sum {
            Some(sum) => self.sums.update(slot, self.arithmetic.plus(sum, value)),
            None => self.sums.set(slot, value),
        }
    }

    #[inline(always)]
    fn minus(&mut self, slot: usize, sum: Option<A::Native>, value: A::Native) -> Option<A::Native> {
        match sum {
            Some(sum) => self.sums.update(slot, self.arithmetic.minus(sum, value)),
            None => self.sums.set(slot, self.arithmetic.minus(A::Native::default(), value)?),
        }
    }

    fn merge_sum(&mut self, slot: usize, sum: Option<A::Native>) {
        if let Some(sum) = sum {
            self.plus(slot, self.sums.get(slot), sum);
        }
    }
}

impl<A: Arithmetic> Cells for InsertOnlySum<A> {
    type Args = <A::Native as Element>::Values;
    type Value = Option<A::Native>;
    type Output = Values<A::Native>;

    const RETRACTION: Retraction = Retraction::Refused;

    fn args(&mut self, args: &[ArrayRef]) -> Result<Self::Args> {
        A::Native::values(state_column(args, 0)?)
    }

    #[inline(always)]
    fn add(&mut self, slot: usize, before: Self::Value, args: &Self::Args, row: usize) -> Self::Value {
        self.plus(slot, before, A::Native::get(args, row))
    }

    fn retract(&mut self, _: usize, before: Self::Value, _: &Self::Args, _: usize) -> Self::Value {
        before
    }

    #[inline(always)]
    fn value(&self, slot: usize) -> Option<A::Native> {
        self.sums.get(slot)
    }

    fn output(&self, len: usize) -> Self::Output {
        Values::new(len)
    }

    #[inline(always)]
    fn put(&self, at: usize, _: usize, value: Option<A::Native>, output: &mut Self::Output) {
        output.put(at, value);
    }

    fn finish(&self, output: Self::Output) -> Result<ArrayRef> {
        output.finish(&self.data_type)
    }

    fn grow(&mut self, slots: usize) {
        self.sums.grow(slots);
    }

    fn clear(&mut self, slot: usize) {
        self.sums.clear(slot);
    }

    fn state_fields(&self) -> Vec<Field> {
        vec![Field::new("sum", self.data_type.clone(), true)]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.sums.gather(slots, &self.data_type)?])
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        let sums = state_column(state, 0)?;
        let values = A::Native::values(sums)?;
        for (row, &slot) in slots.iter().enumerate() {
            self.merge_sum(slot as usize, sums.is_valid(row).then(|| A::Native::get(&values, row)));
        }
        Ok(())
    }

    fn merge_slots(&mut self, into: &[u32], from: &[u32]) -> Result<()> {
        for (&into, &from) in into.iter().zip(from) {
            self.merge_sum(into as usize, self.sums.get(from as usize));
        }
        Ok(())
    }

    fn memory_size(&self) -> usize {
        self.sums.memory_size()
    }
}

/// Sums of values that may be retracted: the sum of no value is NULL, so the values are counted.
#[derive(Debug)]
struct RetractableSum<A: Arithmetic> {
    added: InsertOnlySum<A>,
    counts: Vec<i64>,
}

impl<A: Arithmetic> RetractableSum<A> {
    fn new(arithmetic: A, data_type: &DataType) -> Self {
        Self { added: InsertOnlySum::new(arithmetic, data_type), counts: Vec::new() }
    }
}

impl<A: Arithmetic> Cells for RetractableSum<A> {
    type Args = <A::Native as Element>::Values;
    type Value = Option<A::Native>;
    type Output = Values<A::Native>;

    fn args(&mut self, args: &[ArrayRef]) -> Result<Self::Args> {
        self.added.args(args)
    }

    #[inline(always)]
    fn add(&mut self, slot: usize, before: Self::Value, args: &Self::Args, row: usize) -> Self::Value {
        let sum = before.or_else(|| self.added.sums.get(slot));
        let sum = self.added.plus(slot, sum, A::Native::get(args, row));
        self.counts[slot] = self.counts[slot].wrapping_add(1);
        sum.filter(|_| self.counts[slot] != 0)
    }

    #[inline(always)]
    fn retract(&mut self, slot: usize, before: Self::Value, args: &Self::Args, row: usize) -> Self::Value {
        let sum = before.or_else(|| self.added.sums.get(slot));
        let sum = self.added.minus(slot, sum, A::Native::get(args, row));
        self.counts[slot] = self.counts[slot].wrapping_sub(1);
        sum.filter(|_| self.counts[slot] != 0)
    }

    #[inline(always)]
    fn value(&self, slot: usize) -> Option<A::Native> {
        self.added.sums.get(slot).filter(|_| self.counts[slot] != 0)
    }

    fn output(&self, len: usize) -> Self::Output {
        self.added.output(len)
    }

    #[inline(always)]
    fn put(&self, at: usize, _: usize, value: Option<A::Native>, output: &mut Self::Output) {
        output.put(at, value);
    }

    fn finish(&self, output: Self::Output) -> Result<ArrayRef> {
        self.added.finish(output)
    }

    fn grow(&mut self, slots: usize) {
        self.added.grow(slots);
        grow(&mut self.counts, slots);
    }

    fn clear(&mut self, slot: usize) {
        self.added.clear(slot);
        self.counts[slot] = 0;
    }

    fn state_fields(&self) -> Vec<Field> {
        let mut fields = self.added.state_fields();
        fields.push(Field::new("count", DataType::Int64, false));
        fields
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let mut state = self.added.snapshot(slots)?;
        state.push(gather_counts(&self.counts, slots));
        Ok(state)
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        self.added.merge(slots, state)?;
        merge_counts(&mut self.counts, slots, state_column(state, 1)?)
    }

    fn merge_slots(&mut self, into: &[u32], from: &[u32]) -> Result<()> {
        self.added.merge_slots(into, from)?;
        merge_slot_counts(&mut self.counts, into, from);
        Ok(())
    }

    fn memory_size(&self) -> usize {
        self.added.memory_size() + vec_size(&self.counts)
    }
}
