//! The passes of the rule, a file each.

mod aggregate;
mod appended;
pub(crate) mod calc;
pub(crate) mod changelog;
pub(crate) mod determinism;
mod emit_strategy;
pub(crate) mod exchange;
mod interval;
mod join;
mod normalize;
mod over;
pub(crate) mod position;
mod rank;
pub(crate) mod recognise;
pub(crate) mod root;
mod session;
mod slices;
mod sort_limit;
mod source;
mod split_distinct;
pub(crate) mod state_ttl;
mod temporal;
mod upsert_key;
pub(crate) mod watermarks;
mod window_columns;
mod window_join;
mod window_rank;

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::config::ConfigOptions;
use datafusion_physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion_streaming_physical_plan::config::{RuntimeMode, StreamingOptions};
use datafusion_streaming_physical_plan::operators::aggregate::Bundling;
use datafusion_streaming_physical_plan::runtime::StreamExec;
use datafusion_streaming_physical_plan::time::LocalZone;

/// What the passes need of the session.
pub(crate) struct PlanContext {
    pub options: StreamingOptions,
    pub zone: LocalZone,
    /// The number of partitions of keyed operators.
    pub parallelism: usize,
}

impl PlanContext {
    pub(crate) fn new(config: &ConfigOptions, options: StreamingOptions) -> Result<Self> {
        let parallelism = match options.parallelism {
            0 => config.execution.target_partitions.max(1),
            parallelism => parallelism,
        };
        Ok(PlanContext { zone: options.zone()?, parallelism, options })
    }

    /// The state's time to live in milliseconds, 0 for ever.
    pub(crate) fn state_ttl(&self) -> i64 {
        i64::try_from(self.options.state_ttl).unwrap_or(i64::MAX)
    }

    /// Into how many buckets DISTINCT aggregations are split, if they are.
    pub(crate) fn distinct_buckets(&self) -> Option<u32> {
        self.options.distinct_agg_split.then_some(self.options.distinct_agg_buckets)
    }

    /// In how many phases aggregations are to be planned.
    pub(crate) fn phases(&self) -> Phases {
        match self.options.agg_phase_strategy.to_ascii_uppercase().as_str() {
            "ONE_PHASE" => Phases::One,
            "TWO_PHASE" => Phases::Two,
            _ => Phases::Auto,
        }
    }

    /// When bundles end, with mini-batch.
    pub(crate) fn bundling(&self) -> Option<Bundling> {
        self.options.mini_batch.then(|| Bundling {
            size: match usize::try_from(self.options.mini_batch_size) {
                Ok(0) | Err(_) => usize::MAX,
                Ok(size) => size,
            },
            latency: i64::try_from(self.options.mini_batch_latency).unwrap_or(i64::MAX),
        })
    }
}

/// The phases of aggregations (`table.optimizer.agg-phase-strategy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phases {
    /// As it seems best.
    Auto,
    /// One.
    One,
    /// A local one before the exchange and a global one behind it, where the functions can be merged.
    Two,
}

/// Whether a plan reads a table that is unbounded or changes, or must stream because it is asked to.
pub(crate) fn is_streaming(plan: &Arc<dyn ExecutionPlan>, context: &PlanContext) -> bool {
    let children = plan.children();
    if children.is_empty() {
        return plan.is::<StreamExec>()
            || plan.boundedness().is_unbounded()
            || context.options.runtime_mode == RuntimeMode::Streaming;
    }
    children.into_iter().any(|child| is_streaming(child, context))
}
