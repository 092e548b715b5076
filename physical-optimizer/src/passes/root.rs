//! The root of a plan: what a query yields must be readable as it is asked for.

use std::sync::Arc;

use datafusion_common::{Result, plan_err};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::ExecutionPlanProperties;
use datafusion_streaming_physical_plan::config::RootMode;
use datafusion_streaming_physical_plan::operators::final_table::FinalTableNode;
use datafusion_streaming_physical_plan::runtime::{Distribution, StreamExec};

use super::PlanContext;
use super::exchange::exchanged;

/// Finishes the root. Read as plain rows, a result that changes is its final table if the input
/// ends; if it does not, that is an error.
pub(crate) fn finish(plan: Arc<dyn ExecutionPlan>, context: &PlanContext) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(stream) = plan.downcast_ref::<StreamExec>() else { return Ok(plan) };
    match context.options.root {
        RootMode::Rows if stream.traits().mode.is_insert_only() => Ok(plan),
        RootMode::Rows if plan.boundedness().is_unbounded() => plan_err!(
            "the result of this query changes as rows arrive (mode=[{}]) and its input never ends, so it cannot be \
             read as plain rows. Read its changelog with DataFrame::execute_changelog(), select from \
             TO_CHANGELOG(...), or INSERT INTO a table that takes updates",
            stream.traits().mode
        ),
        RootMode::Rows => StreamExec::plan(FinalTableNode::new(plan.schema()), vec![plan]),
        RootMode::Changelog | RootMode::Explain => Ok(plan),
    }
}

/// A changelog comes out of one partition.
pub(crate) fn gather(plan: Arc<dyn ExecutionPlan>, context: &PlanContext) -> Result<Arc<dyn ExecutionPlan>> {
    match context.options.root {
        RootMode::Changelog | RootMode::Explain if plan.is::<StreamExec>() => {
            exchanged(plan, Distribution::Single, context)
        }
        _ => Ok(plan),
    }
}
