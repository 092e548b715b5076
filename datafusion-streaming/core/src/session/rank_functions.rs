//! Ranking functions with Flink's result type.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::window_state::WindowAggState;
use datafusion::logical_expr::{PartitionEvaluator, Signature, WindowUDF, WindowUDFImpl};

/// A ranking function of DataFusion's as Flink types it: BIGINT NOT NULL instead of an unsigned number.
pub(super) fn bigint_rank(function: Arc<WindowUDF>) -> Arc<WindowUDF> {
    Arc::new(WindowUDF::new_from_impl(BigintRank { function }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct BigintRank {
    function: Arc<WindowUDF>,
}

impl WindowUDFImpl for BigintRank {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn signature(&self) -> &Signature {
        self.function.signature()
    }

    fn partition_evaluator(&self, args: PartitionEvaluatorArgs) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(BigintEvaluator { evaluator: self.function.partition_evaluator_factory(args)? }))
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(args.name(), DataType::Int64, false)))
    }
}

#[derive(Debug)]
struct BigintEvaluator {
    evaluator: Box<dyn PartitionEvaluator>,
}

impl PartitionEvaluator for BigintEvaluator {
    fn memoize(&mut self, state: &mut WindowAggState) -> Result<()> {
        self.evaluator.memoize(state)
    }

    fn get_range(&self, row: usize, rows: usize) -> Result<Range<usize>> {
        self.evaluator.get_range(row, rows)
    }

    fn is_causal(&self) -> bool {
        self.evaluator.is_causal()
    }

    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        Ok(cast(&self.evaluator.evaluate_all(values, rows)?, &DataType::Int64)?)
    }

    fn evaluate(&mut self, values: &[ArrayRef], range: &Range<usize>) -> Result<ScalarValue> {
        self.evaluator.evaluate(values, range)?.cast_to(&DataType::Int64)
    }

    fn evaluate_all_with_rank(&self, rows: usize, ranks: &[Range<usize>]) -> Result<ArrayRef> {
        Ok(cast(&self.evaluator.evaluate_all_with_rank(rows, ranks)?, &DataType::Int64)?)
    }

    fn supports_bounded_execution(&self) -> bool {
        self.evaluator.supports_bounded_execution()
    }

    fn uses_window_frame(&self) -> bool {
        self.evaluator.uses_window_frame()
    }

    fn include_rank(&self) -> bool {
        self.evaluator.include_rank()
    }
}
