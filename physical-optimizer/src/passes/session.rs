//! Aggregation by session: the sessions are made where they are aggregated.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::Result;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::operators::aggregate::AggregateCall;
use datafusion_streaming_physical_plan::operators::session::{SessionAggregateNode, SessionTvfNode};
use datafusion_streaming_physical_plan::operators::window_aggregate::GroupColumn;
use datafusion_streaming_physical_plan::runtime::StreamExec;

use super::PlanContext;
use super::window_columns::{WindowFunction, WithoutWindows, without_windows};

/// What an aggregation over windows comes to if those are sessions.
pub(super) enum BySession {
    /// An aggregation of sessions.
    Planned(Arc<dyn ExecutionPlan>),
    /// An ordinary aggregation: it does not group by what the sessions are partitioned by, or it needs
    /// something else than sessions have.
    Ordinary,
    /// The windows do not come from a SESSION just below.
    Attached,
}

/// Plans an aggregation of `input` by the window's columns and keys in `group`. As in Flink it is a
/// window aggregation only if the keys are those of PARTITION BY; filters in between are then applied
/// below the sessions.
pub(super) fn plan_session_aggregate(
    group: &[GroupColumn],
    calls: &[AggregateCall],
    input: &Arc<dyn ExecutionPlan>,
    schema: &SchemaRef,
    context: &PlanContext,
) -> Result<BySession> {
    let Some(below) = without_windows(input)? else { return Ok(BySession::Attached) };
    let WindowFunction::Session(sessions) = &below.function else { return Ok(BySession::Attached) };
    let Some(group) = moved_group(group, &below) else { return Ok(BySession::Ordinary) };
    let origins: Option<Vec<usize>> = keys_of(&group).map(|key| below.origins[key]).collect();
    let same = |origins: Vec<usize>| {
        origins.iter().all(|origin| sessions.partition().contains(origin))
            && sessions.partition().iter().all(|column| origins.contains(column))
    };
    if !origins.is_some_and(same) {
        return Ok(BySession::Ordinary);
    }
    let Some(calls) = calls.iter().map(|call| moved_call(call, &below)).collect() else {
        return Ok(BySession::Attached);
    };
    let Some(stream) = below.plan.downcast_ref::<StreamExec>() else { return Ok(BySession::Attached) };
    let input = below.plan.schema();
    let mode = stream.traits().mode;
    let keys = keys_of(&group).collect();
    let sessions =
        SessionTvfNode::try_new(below.time, sessions.gap(), keys, context.zone, Arc::clone(&input))?;
    let node = SessionAggregateNode::new(sessions, group, calls, input, Arc::clone(schema), mode);
    StreamExec::plan(node, vec![Arc::clone(&below.plan)]).map(BySession::Planned)
}

fn keys_of(group: &[GroupColumn]) -> impl Iterator<Item = usize> {
    group.iter().filter_map(|column| match column {
        GroupColumn::Key(key) => Some(*key),
        _ => None,
    })
}

fn moved_group(group: &[GroupColumn], below: &WithoutWindows) -> Option<Vec<GroupColumn>> {
    let moved = |column: &GroupColumn| match column {
        GroupColumn::Key(key) => below.places[*key].map(GroupColumn::Key),
        window => Some(*window),
    };
    group.iter().map(moved).collect()
}

/// The call over the columns at their new places; `None` if it reads the window's.
fn moved_call(call: &AggregateCall, below: &WithoutWindows) -> Option<AggregateCall> {
    let args = call.args.iter().map(|arg| below.places[*arg]).collect::<Option<_>>()?;
    let filter = match call.filter {
        Some(filter) => Some(below.places[filter]?),
        None => None,
    };
    Some(AggregateCall { args, filter, ..call.clone() })
}
