//! Temporal joins, whose node must know what its inputs are.

use std::sync::Arc;

use datafusion_common::{Result, internal_err};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::operators::join::temporal::TemporalJoinNode;
use datafusion_streaming_physical_plan::runtime::StreamExec;

/// The temporal join over its inputs; `None` for any other plan.
pub(super) fn plan_temporal_join(
    plan: &Arc<dyn ExecutionPlan>,
    inputs: &[Arc<dyn ExecutionPlan>],
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(stream) = plan.downcast_ref::<StreamExec>() else { return Ok(None) };
    let Some(node) = stream.node().downcast_ref::<TemporalJoinNode>() else { return Ok(None) };
    let streams: Vec<_> = inputs.iter().filter_map(|input| input.downcast_ref::<StreamExec>()).collect();
    let [left, right] = streams.as_slice() else {
        return internal_err!("the inputs of a temporal join do not stream");
    };
    StreamExec::plan(node.over(left.traits(), right.traits())?, inputs.to_vec()).map(Some)
}
