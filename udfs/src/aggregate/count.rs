//! COUNT.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::{DataType, Field};
use datafusion_common::{Result, plan_err};

use super::cells::{CellState, Cells};
use super::column::{gather_counts, grow, merge_counts, merge_slot_counts, state_column, vec_size};
use super::{AggregateArgs, AggregateKind, AggregateState, StreamingAggregate};

/// `COUNT(*)`, `COUNT(a)` and `COUNT(a, b, …)`: the rows in which no argument is NULL. A BIGINT,
/// never NULL. `COUNT(*)` is the count of a constant.
#[derive(Debug)]
pub struct Count;

impl StreamingAggregate for Count {
    fn name(&self) -> &str {
        "count"
    }

    fn kind(&self) -> AggregateKind {
        AggregateKind::Count
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        if arg_types.contains(&DataType::Null) {
            return plan_err!("COUNT does not take an untyped NULL. Cast it to a type");
        }
        Ok(arg_types.to_vec())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn is_nullable(&self) -> bool {
        false
    }

    fn value_is_state(&self, _distinct: bool, _return_type: &DataType) -> bool {
        true
    }

    fn has_small_state(&self) -> bool {
        true
    }

    fn state(&self, _: &AggregateArgs<'_>) -> Result<Box<dyn AggregateState>> {
        CellState::boxed(CountCells::default())
    }
}

#[derive(Debug, Default)]
struct CountCells {
    counts: Vec<i64>,
}

impl Cells for CountCells {
    type Args = ();
    type Value = i64;
    type Output = Vec<i64>;

    fn args(&mut self, _: &[ArrayRef]) -> Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn add(&mut self, slot: usize, before: i64, (): &(), _: usize) -> i64 {
        let after = before.wrapping_add(1);
        self.counts[slot] = after;
        after
    }

    #[inline(always)]
    fn retract(&mut self, slot: usize, before: i64, (): &(), _: usize) -> i64 {
        let after = before.wrapping_sub(1);
        self.counts[slot] = after;
        after
    }

    #[inline(always)]
    fn value(&self, slot: usize) -> i64 {
        self.counts[slot]
    }

    fn output(&self, len: usize) -> Vec<i64> {
        vec![0; len]
    }

    #[inline(always)]
    fn put(&self, at: usize, _: usize, value: i64, output: &mut Vec<i64>) {
        output[at] = value;
    }

    fn finish(&self, output: Vec<i64>) -> Result<ArrayRef> {
        Ok(Arc::new(Int64Array::from(output)))
    }

    fn grow(&mut self, slots: usize) {
        grow(&mut self.counts, slots);
    }

    fn clear(&mut self, slot: usize) {
        self.counts[slot] = 0;
    }

    fn state_fields(&self) -> Vec<Field> {
        vec![Field::new("count", DataType::Int64, false)]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        Ok(vec![gather_counts(&self.counts, slots)])
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        merge_counts(&mut self.counts, slots, state_column(state, 0)?)
    }

    fn merge_slots(&mut self, into: &[u32], from: &[u32]) -> Result<()> {
        merge_slot_counts(&mut self.counts, into, from);
        Ok(())
    }

    fn memory_size(&self) -> usize {
        vec_size(&self.counts)
    }
}
