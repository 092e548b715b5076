//! Numbers for the nodes, which identify their state in checkpoints.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::execution_plan::replace_children_if_necessary;
use datafusion_streaming_physical_plan::runtime::StreamExec;

/// Numbers the nodes in pre-order, from 0 at the root.
pub(crate) fn number(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    number_from(plan, &mut 0)
}

fn number_from(plan: Arc<dyn ExecutionPlan>, next: &mut usize) -> Result<Arc<dyn ExecutionPlan>> {
    let position = *next;
    *next += 1;
    let children = plan.children().into_iter().map(|child| number_from(Arc::clone(child), next));
    let children = children.collect::<Result<_>>()?;
    let plan = replace_children_if_necessary(plan, children)?;
    Ok(match plan.downcast_ref::<StreamExec>() {
        Some(stream) => Arc::new(stream.at_position(position)),
        None => plan,
    })
}
