//! Exchanges where a node needs its rows by key or in one partition.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_plan::execution_plan::replace_children_if_necessary;
use datafusion_physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion_streaming_physical_plan::operators::calc::CalcNode;
use datafusion_streaming_physical_plan::operators::exchange::ExchangeNode;
use datafusion_streaming_physical_plan::operators::group_aggregate::GroupAggregateNode;
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
    let partitions = match &required {
        Distribution::Hash(keys)
            if is_parted_by(&plan, keys) && partitions_of(&plan) == context.parallelism =>
        {
            return Ok(plan);
        }
        Distribution::Any => return Ok(plan),
        Distribution::Single => 1,
        Distribution::Hash(_) => context.parallelism,
    };
    if partitions == 1 && partitions_of(&plan) == 1 {
        return Ok(plan);
    }
    let node = ExchangeNode::new(required, partitions, plan.schema());
    StreamExec::plan(node, vec![plan])
}

fn partitions_of(plan: &Arc<dyn ExecutionPlan>) -> usize {
    plan.output_partitioning().partition_count()
}

/// Whether the rows of a plan are already in the partition of these columns, in this order: because they are
/// what an aggregation below is grouped by.
pub(super) fn is_parted_by(plan: &Arc<dyn ExecutionPlan>, columns: &[usize]) -> bool {
    let Some(stream) = plan.downcast_ref::<StreamExec>() else { return false };
    let node = stream.node();
    if node.downcast_ref::<GroupAggregateNode>().is_some() {
        let keys = stream.traits().upsert_keys.first();
        return !columns.is_empty() && keys.is_some_and(|keys| keys == columns);
    }
    let (Some(calc), [input]) = (node.downcast_ref::<CalcNode>(), stream.inputs()) else { return false };
    let Some(projection) = calc.projection() else { return is_parted_by(input, columns) };
    let below = |column: &usize| Some(projection.get(*column)?.downcast_ref::<Column>()?.index());
    columns.iter().map(below).collect::<Option<Vec<_>>>().is_some_and(|columns| is_parted_by(input, &columns))
}
