//! SUM0.

use std::sync::LazyLock;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field};
use datafusion_common::{Result, not_impl_err};

use super::arithmetic::{Arithmetic, Totals, dispatch_arithmetic};
use super::cells::{CellState, Cells};
use super::column::{Element, Values, state_column};
use super::signature::numeric_argument;
use super::sum::sum_type;
use super::{AggregateArgs, AggregateKind, AggregateState, StreamingAggregate};

/// `$SUM0`: as [`Sum`](super::Sum), but the sum of no value is zero. Flink plans it where an
/// optimisation needs a sum that is not NULL.
#[derive(Debug)]
pub struct Sum0;

impl StreamingAggregate for Sum0 {
    fn name(&self) -> &str {
        "$sum0"
    }

    fn kind(&self) -> AggregateKind {
        AggregateKind::Sum0
    }

    fn aliases(&self) -> &[String] {
        static ALIASES: LazyLock<Vec<String>> = LazyLock::new(|| vec!["sum0".to_owned()]);
        &ALIASES
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        numeric_argument("$SUM0", arg_types)
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(sum_type(arg_types))
    }

    fn is_nullable(&self) -> bool {
        false
    }

    fn has_small_state(&self) -> bool {
        true
    }

    fn state(&self, args: &AggregateArgs<'_>) -> Result<Box<dyn AggregateState>> {
        dispatch_arithmetic!(args.return_type, arithmetic => {
            let totals = Totals::new(arithmetic);
            CellState::boxed(Sum0Cells { totals, data_type: args.return_type.clone() })
        }, other => not_impl_err!("$SUM0 of {other}"))
    }
}

#[derive(Debug)]
struct Sum0Cells<A: Arithmetic> {
    totals: Totals<A>,
    data_type: DataType,
}

impl<A: Arithmetic> Cells for Sum0Cells<A> {
    type Args = <A::Native as Element>::Values;
    type Value = Option<A::Native>;
    type Output = Values<A::Native>;

    fn args(&mut self, args: &[ArrayRef]) -> Result<Self::Args> {
        A::Native::values(state_column(args, 0)?)
    }

    #[inline(always)]
    fn add(&mut self, slot: usize, sum: Self::Value, args: &Self::Args, row: usize) -> Self::Value {
        self.totals.plus(slot, sum, A::Native::get(args, row))
    }

    #[inline(always)]
    fn retract(&mut self, slot: usize, sum: Self::Value, args: &Self::Args, row: usize) -> Self::Value {
        self.totals.minus(slot, sum, A::Native::get(args, row))
    }

    #[inline(always)]
    fn value(&self, slot: usize) -> Option<A::Native> {
        self.totals.get(slot)
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
        self.totals.grow(slots);
    }

    fn clear(&mut self, slot: usize) {
        self.totals.clear(slot);
    }

    fn state_fields(&self) -> Vec<Field> {
        vec![Field::new("sum", self.data_type.clone(), true)]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.totals.gather(slots, &self.data_type)?])
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        self.totals.merge(slots, state_column(state, 0)?)
    }

    fn merge_slots(&mut self, into: &[u32], from: &[u32]) -> Result<()> {
        self.totals.merge_slots(into, from);
        Ok(())
    }

    fn memory_size(&self) -> usize {
        self.totals.memory_size()
    }
}
