//! Watermarks with each row, where a query asks for them.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::execution_plan::replace_children_if_necessary;
use datafusion_streaming_physical_plan::operators::calc::CalcNode;
use datafusion_streaming_physical_plan::operators::watermark_assigner::WatermarkAssignerNode;
use datafusion_streaming_physical_plan::runtime::StreamExec;

/// Below a `CURRENT_WATERMARK`, watermarks are sent with each row: else once a batch, as no other
/// operator can tell the difference.
pub(crate) fn exact(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    make_exact(plan, false)
}

fn make_exact(plan: Arc<dyn ExecutionPlan>, asked: bool) -> Result<Arc<dyn ExecutionPlan>> {
    let stream = plan.downcast_ref::<StreamExec>();
    let asks = stream
        .and_then(|stream| stream.node().downcast_ref::<CalcNode>())
        .is_some_and(CalcNode::reads_watermark);
    let asked = asked || asks;
    let children = plan.children().into_iter().map(|child| make_exact(Arc::clone(child), asked));
    let children = children.collect::<Result<Vec<_>>>()?;
    if let Some(assigner) =
        stream.filter(|_| asked).and_then(|stream| stream.node().downcast_ref::<WatermarkAssignerNode>())
    {
        return StreamExec::plan(assigner.with_each_row(), children);
    }
    replace_children_if_necessary(plan, children)
}
