//! Native plans as sources of streaming ones.

use std::sync::Arc;

use arrow::datatypes::{DataType, IntervalMonthDayNano};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{Column, binary, lit};
use datafusion_physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion_streaming_physical_plan::operators::source::NativeSourceNode;
use datafusion_streaming_physical_plan::operators::watermark_assigner::WatermarkAssignerNode;
use datafusion_streaming_physical_plan::runtime::StreamExec;

use super::PlanContext;

/// A native plan as an insert-only source. An unbounded one that is declared to be in ascending
/// order of a timestamp (`WITH ORDER (ts)`) has that column as its rowtime, with watermarks a
/// millisecond behind it, as Flink's for ascending timestamps.
pub(super) fn native_source(
    plan: Arc<dyn ExecutionPlan>,
    context: &PlanContext,
) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = plan.schema();
    let rowtime = ascending_time(&plan);
    let source = StreamExec::plan(NativeSourceNode::new(Arc::clone(&schema)), vec![plan])?;
    let Some(column) = rowtime else { return Ok(source) };
    let millisecond = IntervalMonthDayNano::new(0, 0, 1_000_000);
    let watermark = binary(
        Arc::new(column.clone()),
        Operator::Minus,
        lit(ScalarValue::IntervalMonthDayNano(Some(millisecond))),
        &schema,
    )?;
    let idle_timeout = i64::try_from(context.options.source_idle_timeout).ok().filter(|timeout| *timeout > 0);
    let node = WatermarkAssignerNode::new(column.index(), watermark, idle_timeout, schema);
    StreamExec::plan(node, vec![source])
}

/// The timestamp column by which an unbounded plan is in ascending order.
fn ascending_time(plan: &Arc<dyn ExecutionPlan>) -> Option<Column> {
    if !plan.boundedness().is_unbounded() {
        return None;
    }
    let first = plan.output_ordering()?.first();
    let column = first.expr.downcast_ref::<Column>()?;
    let is_time = matches!(plan.schema().field(column.index()).data_type(), DataType::Timestamp(_, _));
    (is_time && !first.options.descending).then(|| column.clone())
}
