//! Numbers for the nodes, which identify their state in checkpoints.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion_common::Result;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::execution_plan::replace_children_if_necessary;
use datafusion_streaming_physical_plan::runtime::StreamExec;

/// Numbers the nodes of each identity in pre-order, from 0.
pub(crate) fn number(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    number_from(plan, &mut HashMap::new())
}

fn number_from(
    plan: Arc<dyn ExecutionPlan>,
    next: &mut HashMap<String, usize>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let number = plan.downcast_ref::<StreamExec>().map(|stream| {
        let next = next.entry(stream.node().identity()).or_default();
        *next += 1;
        *next - 1
    });
    let children = plan.children().into_iter().map(|child| number_from(Arc::clone(child), next));
    let children = children.collect::<Result<_>>()?;
    let plan = replace_children_if_necessary(plan, children)?;
    Ok(match (plan.downcast_ref::<StreamExec>(), number) {
        (Some(stream), Some(number)) => Arc::new(stream.numbered(number)),
        _ => plan,
    })
}
