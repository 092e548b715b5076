//! The hint STATE_TTL.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::execution_plan::replace_children_if_necessary;
use datafusion_streaming_physical_plan::operators::calc::CalcNode;
use datafusion_streaming_physical_plan::operators::expand::ExpandNode;
use datafusion_streaming_physical_plan::operators::state_ttl::StateTtlNode;
use datafusion_streaming_physical_plan::runtime::StreamExec;

/// The time to live that a hint gives to what is kept of this input, in milliseconds: it stands at the input itself,
/// below projections, filters and the expansion of grouping sets.
pub(super) fn hinted_ttl(input: &Arc<dyn ExecutionPlan>) -> Option<i64> {
    let stream = input.downcast_ref::<StreamExec>()?;
    let node = stream.node();
    if let Some(hint) = node.downcast_ref::<StateTtlNode>() {
        return Some(hint.ttl());
    }
    if node.downcast_ref::<CalcNode>().is_some() || node.downcast_ref::<ExpandNode>().is_some() {
        return hinted_ttl(stream.inputs().first()?);
    }
    None
}

/// The plan without hints, which have been read.
pub(crate) fn without_hints(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let children = plan.children().into_iter().map(|child| without_hints(Arc::clone(child)));
    let mut children = children.collect::<Result<Vec<_>>>()?;
    let is_hint = |stream: &StreamExec| stream.node().downcast_ref::<StateTtlNode>().is_some();
    match plan.downcast_ref::<StreamExec>() {
        Some(stream) if is_hint(stream) && children.len() == 1 => Ok(children.swap_remove(0)),
        _ => replace_children_if_necessary(plan, children),
    }
}
