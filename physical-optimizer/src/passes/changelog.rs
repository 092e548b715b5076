//! Which nodes must make `-U` rows: asked from the root down.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::execution_plan::replace_children_if_necessary;
use datafusion_streaming_physical_plan::runtime::StreamExec;

/// Tells every node whether `-U` rows are needed of it. Whoever reads the root of a plan needs them.
pub(crate) fn drop_update_before(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    require(plan, true)
}

fn require(plan: Arc<dyn ExecutionPlan>, needed: bool) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(stream) = plan.downcast_ref::<StreamExec>() else {
        let children = plan.children().into_iter().map(|child| require(Arc::clone(child), true));
        let children = children.collect::<Result<_>>()?;
        return replace_children_if_necessary(plan, children);
    };
    let node = stream.node().with_update_before(needed).unwrap_or_else(|| Arc::clone(stream.node()));
    let input = |(number, input): (usize, &Arc<dyn ExecutionPlan>)| {
        require(Arc::clone(input), node.needs_update_before(number, needed))
    };
    let inputs = stream.inputs().iter().enumerate().map(input).collect::<Result<_>>()?;
    Ok(Arc::new(StreamExec::try_new(node, inputs)?))
}
