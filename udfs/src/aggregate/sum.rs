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
use super::{AggregateArgs, AggregateState, StreamingAggregate};
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

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        numeric_argument("SUM", arg_types)
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(sum_type(arg_types))
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
    fn plus(&mut self, slot: usize, value: A::Native) {
        let sum = match self.sums.get(slot) {
            Some(sum) => self.arithmetic.plus(sum, value),
            None => Some(value),
        };
        self.sums.replace(slot, sum);
    }
}

impl<A: Arithmetic> Cells for InsertOnlySum<A> {
    type Args = <A::Native as Element>::Values;
    type Value = Option<A::Native>;
    type Output = Values<A::Native>;

    const RETRACTION: Retraction = Retraction::Refused;

    fn args(&self, args: &[ArrayRef]) -> Result<Self::Args> {
        A::Native::values(state_column(args, 0)?)
    }

    #[inline(always)]
    fn add(&mut self, slot: usize, args: &Self::Args, row: usize) {
        self.plus(slot, A::Native::get(args, row));
    }

    fn retract(&mut self, _: usize, _: &Self::Args, _: usize) {}

    #[inline(always)]
    fn value(&self, slot: usize) -> Option<A::Native> {
        self.sums.get(slot)
    }

    fn output(&self, capacity: usize) -> Self::Output {
        Values::with_capacity(capacity)
    }

    #[inline(always)]
    fn push(&self, _: usize, value: Option<A::Native>, output: &mut Self::Output) {
        output.push(value);
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
            if sums.is_valid(row) {
                self.plus(slot as usize, A::Native::get(&values, row));
            }
        }
        Ok(())
    }

    fn merge_slots(&mut self, into: &[u32], from: &[u32]) -> Result<()> {
        for (&into, &from) in into.iter().zip(from) {
            if let Some(sum) = self.sums.get(from as usize) {
                self.plus(into as usize, sum);
            }
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

    fn args(&self, args: &[ArrayRef]) -> Result<Self::Args> {
        self.added.args(args)
    }

    #[inline(always)]
    fn add(&mut self, slot: usize, args: &Self::Args, row: usize) {
        self.added.add(slot, args, row);
        self.counts[slot] = self.counts[slot].wrapping_add(1);
    }

    #[inline(always)]
    fn retract(&mut self, slot: usize, args: &Self::Args, row: usize) {
        let sum = self.added.sums.get(slot).unwrap_or_default();
        let difference = self.added.arithmetic.minus(sum, A::Native::get(args, row));
        self.added.sums.replace(slot, difference);
        self.counts[slot] = self.counts[slot].wrapping_sub(1);
    }

    #[inline(always)]
    fn value(&self, slot: usize) -> Option<A::Native> {
        self.added.sums.get(slot).filter(|_| self.counts[slot] != 0)
    }

    fn output(&self, capacity: usize) -> Self::Output {
        self.added.output(capacity)
    }

    #[inline(always)]
    fn push(&self, _: usize, value: Option<A::Native>, output: &mut Self::Output) {
        output.push(value);
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
