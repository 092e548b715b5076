//! When window aggregations emit, by the options of the session, and what they refuse.

use std::sync::Arc;

use datafusion_common::{Result, plan_err};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::operators::aggregate::AggregateCall;
use datafusion_streaming_physical_plan::operators::calc::CalcNode;
use datafusion_streaming_physical_plan::operators::expand::ExpandNode;
use datafusion_streaming_physical_plan::operators::session::SessionTvfNode;
use datafusion_streaming_physical_plan::operators::window_tvf::WindowTvfNode;
use datafusion_streaming_physical_plan::runtime::StreamExec;
use datafusion_streaming_physical_plan::time::WindowAssigner;

use super::PlanContext;

/// The allowed lateness, in milliseconds, of an aggregation of windows whose rows are `input`; an error
/// where Flink has none for such windows, or where they cannot be aggregated.
pub(super) fn allowed_lateness(
    input: &Arc<dyn ExecutionPlan>,
    calls: &[AggregateCall],
    context: &PlanContext,
) -> Result<i64> {
    let options = &context.options;
    let millis = |duration: u64| i64::try_from(duration).unwrap_or(i64::MAX);
    let Some(function) = window_function(input) else { return Ok(0) };
    let assigner = function.assigner();
    if !function.is_of_group_by() {
        if options.emit_late_fire {
            return plan_err!(
                "'table.exec.emit.late-fire.enabled' is for windows in GROUP BY, such as GROUP BY TUMBLE(ts, INTERVAL \
                 '1' MINUTE); for {assigner} set 'streaming.window_allowed_lateness' instead"
            );
        }
        if let WindowAssigner::Hop { slide, size, .. } = assigner
            && size % slide != 0
        {
            return plan_err!(
                "the SIZE of {assigner} must be a multiple of SLIDE to be aggregated: make it {} ms, or use \
                 GROUP BY HOP(ts, slide, size)",
                (size / slide + 1) * slide
            );
        }
        let is_first_or_last =
            |call: &&AggregateCall| matches!(call.function.name(), "first_value" | "last_value");
        if let Some(call) = calls.iter().find(is_first_or_last).filter(|_| !assigner.is_tumble()) {
            return plan_err!(
                "{call} cannot be merged, as {assigner} needs it to be: number the rows by ROW_NUMBER() OVER (PARTITION \
                 BY window_start, window_end, … ORDER BY …) and take the first, or use TUMBLE"
            );
        }
        return match (millis(options.window_allowed_lateness), assigner.is_session()) {
            (0, _) | (_, true) => Ok(0),
            (lateness, false) => Ok(lateness),
        };
    }
    match (options.emit_late_fire, assigner.is_session()) {
        (false, _) => Ok(0),
        (true, true) => plan_err!(
            "sessions take no 'table.exec.emit' options; set 'table.exec.emit.late-fire.enabled' to false"
        ),
        (true, false) if options.emit_late_fire_delay > 0 => {
            plan_err!("'table.exec.emit.late-fire.delay' must be 0: late rows are emitted at once")
        }
        (true, false) => Ok(millis(options.emit_allow_lateness)),
    }
}

/// The window function below projections, filters and grouping sets.
fn window_function(plan: &Arc<dyn ExecutionPlan>) -> Option<&WindowTvfNode> {
    let stream = plan.downcast_ref::<StreamExec>()?;
    let node = stream.node();
    let passes_windows =
        node.downcast_ref::<CalcNode>().is_some() || node.downcast_ref::<ExpandNode>().is_some();
    let sessions = || node.downcast_ref::<SessionTvfNode>().map(SessionTvfNode::windows);
    match node.downcast_ref::<WindowTvfNode>().or_else(sessions) {
        Some(function) => Some(function),
        None if passes_windows => window_function(stream.inputs().first()?),
        None => None,
    }
}
