//! Exchanges where a node needs its rows by key or in one partition.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_physical_plan::execution_plan::replace_children_if_necessary;
use datafusion_physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion_streaming_physical_plan::operators::exchange::ExchangeNode;
use datafusion_streaming_physical_plan::runtime::{Distribution, StreamExec};

use super::PlanContext;

/// Puts exchanges below the nodes that need them.
pub(crate) fn distribute(
    plan: Arc<dyn ExecutionPlan>,
    context: &PlanContext,
) -> Result<Arc<dyn ExecutionPlan>> {
    let children = plan.children().into_iter().map(|child| distribute(Arc::clone(child), context));
    let mut children = children.collect::<Result<Vec<_>>>()?;
    if let Some(stream) = plan.downcast_ref::<StreamExec>() {
        for (number, child) in children.iter_mut().enumerate() {
            *child = exchanged(Arc::clone(child), stream.node().required_distribution(number), context)?;
        }
    }
    replace_children_if_necessary(plan, children)
}

/// A plan whose rows are spread as required.
pub(super) fn exchanged(
    plan: Arc<dyn ExecutionPlan>,
    required: Distribution,
    context: &PlanContext,
) -> Result<Arc<dyn ExecutionPlan>> {
    let partitions = match required {
        Distribution::Any => return Ok(plan),
        Distribution::Single => 1,
        Distribution::Hash(_) => context.parallelism,
    };
    if partitions == 1 && plan.output_partitioning().partition_count() == 1 {
        return Ok(plan);
    }
    let node = ExchangeNode::new(required, partitions, plan.schema());
    StreamExec::plan(node, vec![plan])
}
