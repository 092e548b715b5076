//! What may not be left in a streaming plan.

use std::sync::Arc;

use datafusion_common::config::ConfigOptions;
use datafusion_common::{Result, plan_err};
use datafusion_physical_optimizer::PhysicalOptimizerRule;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::runtime::StreamExec;

/// Refuses plans in which a native node reads a stream that it would misunderstand: DataFusion has
/// nodes that accept unbounded input and silently lose or withhold rows, and none that understands
/// updates.
#[derive(Debug, Default)]
pub struct StreamingVerifier {}

impl StreamingVerifier {
    /// The rule. Its place is before DataFusion's `SanityCheckPlan`.
    pub fn new() -> Self {
        StreamingVerifier::default()
    }
}

/// Native nodes that pass rows on as they come, which is right for append-only streams.
const PASS_ROWS_ON: [&str; 7] = [
    "DataSinkExec",
    "CoalescePartitionsExec",
    "RepartitionExec",
    "CooperativeExec",
    "OutputRequirementExec",
    "AnalyzeExec",
    "ExplainExec",
];

impl PhysicalOptimizerRule for StreamingVerifier {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        verify(&plan)?;
        Ok(plan)
    }

    fn name(&self) -> &str {
        "streaming_verifier"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Checks a plan; returns whether its rows come from a stream.
pub(crate) fn verify(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let mut streams = false;
    for child in plan.children() {
        let child_streams = verify(child)?;
        streams |= child_streams;
        if !child_streams || plan.is::<StreamExec>() {
            continue;
        }
        if let Some(stream) = child.downcast_ref::<StreamExec>()
            && !stream.traits().mode.is_insert_only()
            && plan.name() != "AnalyzeExec"
        {
            return plan_err!(
                "{} takes only inserts, but the query gives updates or deletes (mode=[{}]); insert into a table \
                 that takes updates, or read TO_CHANGELOG(...) of the query",
                plan.name(),
                stream.traits().mode
            );
        }
        if !PASS_ROWS_ON.contains(&plan.name()) {
            return plan_err!(
                "{} has no streaming form yet and would wait for the end of an unbounded input: {}",
                plan.name(),
                advice(plan.name())
            );
        }
    }
    Ok(streams || plan.is::<StreamExec>())
}

/// What to do instead of a native node.
fn advice(name: &str) -> &'static str {
    match name {
        "SortExec" | "SortPreservingMergeExec" => "order the result where it is read",
        "GlobalLimitExec" | "LocalLimitExec" => "stop reading when enough rows have come",
        name if name.contains("Join") => "join tables that are bounded, or aggregate before the join",
        name if name.contains("Window") => "use a window table function such as TUMBLE with GROUP BY",
        _ => "rewrite the query without it",
    }
}
