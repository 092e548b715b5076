//! Temporal joins, whose node must know what its inputs are.

use std::sync::Arc;

use datafusion_common::{Result, internal_err};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::operators::calc::CalcNode;
use datafusion_streaming_physical_plan::operators::join::lookup::LookupJoinNode;
use datafusion_streaming_physical_plan::operators::join::temporal::TemporalJoinNode;
use datafusion_streaming_physical_plan::runtime::StreamExec;

/// The temporal join over its inputs; `None` for any other plan.
pub(super) fn plan_temporal_join(
    plan: &Arc<dyn ExecutionPlan>,
    inputs: &[Arc<dyn ExecutionPlan>],
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(stream) = plan.downcast_ref::<StreamExec>() else { return Ok(None) };
    if let Some(node) = stream.node().downcast_ref::<LookupJoinNode>() {
        let [input] = inputs else { return internal_err!("a lookup join has one input") };
        let traits = input.downcast_ref::<StreamExec>().map(|input| input.traits().clone());
        return StreamExec::plan(node.over(&traits.unwrap_or_default())?, inputs.to_vec()).map(Some);
    }
    let Some(node) = stream.node().downcast_ref::<TemporalJoinNode>() else { return Ok(None) };
    let streams: Vec<_> = inputs.iter().filter_map(|input| input.downcast_ref::<StreamExec>()).collect();
    let [left, right] = streams.as_slice() else {
        return internal_err!("the inputs of a temporal join do not stream");
    };
    let node = node.over(left.traits(), right.traits())?;
    let node = if filters_updates(right) { node.with_filtered_versions() } else { node };
    StreamExec::plan(node, inputs.to_vec()).map(Some)
}

/// Whether the updates of a stream go through a filter last.
fn filters_updates(stream: &StreamExec) -> bool {
    let Some(calc) = stream.node().downcast_ref::<CalcNode>() else { return false };
    let input = stream.inputs().first().and_then(|input| input.downcast_ref::<StreamExec>());
    let Some(input) = input.filter(|input| !input.traits().mode.is_insert_only()) else { return false };
    calc.parts().0.is_some() || filters_updates(input)
}
