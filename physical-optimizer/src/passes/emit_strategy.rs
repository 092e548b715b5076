//! When window aggregations emit, by the options of the session, and what they refuse.

use std::sync::Arc;

use datafusion_common::{Result, plan_err};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::config::StreamingOptions;
use datafusion_streaming_physical_plan::operators::aggregate::AggregateCall;
use datafusion_streaming_physical_plan::operators::calc::CalcNode;
use datafusion_streaming_physical_plan::operators::expand::ExpandNode;
use datafusion_streaming_physical_plan::operators::session::SessionTvfNode;
use datafusion_streaming_physical_plan::operators::window_aggregate::EmitStrategy;
use datafusion_streaming_physical_plan::operators::window_tvf::WindowTvfNode;
use datafusion_streaming_physical_plan::runtime::{StreamExec, WindowProperties};
use datafusion_streaming_physical_plan::time::WindowAssigner;

use super::PlanContext;

/// When an aggregation of `window`s whose rows are `input` emits; an error where Flink has no such strategy
/// for the windows, or where they cannot be aggregated.
pub(super) fn emit_strategy(
    window: &WindowProperties,
    input: &Arc<dyn ExecutionPlan>,
    calls: &[AggregateCall],
    context: &PlanContext,
) -> Result<EmitStrategy> {
    if let Some(function) = window_function(input) {
        if function.is_of_group_by() {
            return of_group_by(function, window.rowtime, &context.options);
        }
        check_table_function(function, calls, &context.options)?;
    }
    let lateness = if window.rowtime { context.options.window_lateness() } else { 0 };
    Ok(EmitStrategy { lateness, ..EmitStrategy::AT_END })
}

fn check_table_function(
    function: &WindowTvfNode,
    calls: &[AggregateCall],
    options: &StreamingOptions,
) -> Result<()> {
    let assigner = function.assigner();
    for (enabled, key) in [(options.emit_early_fire, EARLY), (options.emit_late_fire, LATE)] {
        if enabled {
            return plan_err!(
                "'{key}.enabled' is for windows in GROUP BY, such as GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE): set it to \
                 false for {assigner}, and for late rows set 'streaming.window.allowed_lateness' instead"
            );
        }
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
    match calls.iter().find(is_first_or_last).filter(|_| !assigner.is_tumble()) {
        Some(call) => plan_err!(
            "{call} cannot be merged, as {assigner} needs it to be: number the rows by ROW_NUMBER() OVER (PARTITION \
             BY window_start, window_end, … ORDER BY …) and take the first, or use TUMBLE"
        ),
        None => Ok(()),
    }
}

const EARLY: &str = "table.exec.emit.early-fire";
const LATE: &str = "table.exec.emit.late-fire";
const LATENESS: &str = "table.exec.emit.allow-lateness";

/// Flink's WindowEmitStrategy, from the options `table.exec.emit.*`.
fn of_group_by(
    function: &WindowTvfNode,
    is_rowtime: bool,
    options: &StreamingOptions,
) -> Result<EmitStrategy> {
    let (early, late) = (options.emit_early_fire, options.emit_late_fire);
    if !early && !late {
        return Ok(EmitStrategy::AT_END);
    }
    if function.assigner().is_session() {
        return plan_err!(
            "sessions take no 'table.exec.emit' options: set '{EARLY}.enabled' and '{LATE}.enabled' to false"
        );
    }
    let lateness = options.group_window_lateness();
    if is_rowtime && late && lateness == 0 {
        return plan_err!(
            "'{LATE}.enabled' needs to know how long windows take late rows: set '{LATENESS}', such as '1 min'"
        );
    }
    let [early_delay, late_delay] = options.emit_delays();
    for (enabled, key, delay) in [(early, EARLY, early_delay), (late, LATE, late_delay)] {
        if enabled && delay.is_none() {
            return plan_err!("'{key}.enabled' needs '{key}.delay': set it, to '0 s' to emit with each row");
        }
    }
    let late_delay = late_delay.filter(|_| late).unwrap_or(0);
    if late_delay > lateness {
        return plan_err!(
            "'{LATE}.delay' ({late_delay} ms) is longer than windows take late rows ({lateness} ms): set '{LATENESS}' to \
             as much at least"
        );
    }
    let early = early_delay.filter(|_| early);
    Ok(match is_rowtime {
        true => EmitStrategy { early, late: late_delay, lateness },
        false => EmitStrategy { early, ..EmitStrategy::AT_END },
    })
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
