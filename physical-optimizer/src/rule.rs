//! The rule that plans streaming queries.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::config::ConfigOptions;
use datafusion_physical_optimizer::PhysicalOptimizerRule;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::config::StreamingOptions;

use crate::passes::{
    PlanContext, calc, changelog, determinism, exchange, is_streaming, position, recognise, root, state_ttl,
    watermarks,
};
use crate::verifier::verify;

/// Replaces the native nodes of a plan over unbounded or changing tables by streaming nodes, in
/// passes:
///
/// 1. *recognise*: bottom up, each native node becomes its streaming node, which derives what is
///    known of its output (changelog mode, upsert keys, time attributes); where a query asks for the
///    watermark before a row, watermarks are sent with each row;
/// 2. *determinism*: what may be taken back must be the same when it is computed again;
/// 3. *root*: what the query yields must be readable as it is asked for;
/// 4. *changelog*: top down, nodes whose consumers do not need `-U` rows stop making them;
/// 5. *calc*: projections and filters in a row become one node;
/// 6. *exchange*: rows go to the partition of their key, and a changelog out of one partition;
/// 7. *position*: nodes are numbered, which identifies their state in checkpoints.
///
/// A plan without such a table is returned as it is.
#[derive(Debug, Default)]
pub struct StreamingRule {}

impl StreamingRule {
    /// The rule. Its place is the first among the physical optimizers.
    pub fn new() -> Self {
        StreamingRule::default()
    }
}

impl PhysicalOptimizerRule for StreamingRule {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let context = PlanContext::new(config, StreamingOptions::of(config))?;
        if !is_streaming(&plan, &context) {
            return Ok(plan);
        }
        let plan = state_ttl::without_hints(recognise::recognise(plan, &context)?)?;
        let plan = watermarks::exact(plan)?;
        determinism::check(&plan, &context)?;
        let plan = root::finish(plan, &context)?;
        let plan = changelog::drop_update_before(plan)?;
        let plan = calc::merge(plan)?;
        let plan = exchange::distribute(plan, &context)?;
        let plan = root::gather(plan, &context)?;
        // what is left over is refused here, before DataFusion adapts it to unbounded input
        verify(&plan)?;
        position::number(plan)
    }

    fn name(&self) -> &str {
        "streaming"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
