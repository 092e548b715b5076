//! Aggregation by session: the sessions are made where they are aggregated.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::Result;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::operators::aggregate::AggregateCall;
use datafusion_streaming_physical_plan::operators::expand::ExpandNode;
use datafusion_streaming_physical_plan::operators::session::{SessionAggregateNode, SessionTvfNode};
use datafusion_streaming_physical_plan::operators::window_aggregate::GroupColumn;
use datafusion_streaming_physical_plan::runtime::{StreamExec, TimeAttributeKind};

use super::PlanContext;
use super::slices::keys_of;
use super::window_columns::{WindowFunction, without_windows};

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
    let node = input.downcast_ref::<StreamExec>().map(StreamExec::node);
    if node.is_some_and(|node| node.downcast_ref::<ExpandNode>().is_some()) {
        // the number of the grouping set is a key, too
        return Ok(BySession::Ordinary);
    }
    let Some(below) = without_windows(input)? else { return Ok(BySession::Attached) };
    let WindowFunction::Session(sessions) = &below.function else { return Ok(BySession::Attached) };
    let Some(group) = below.group(group) else { return Ok(BySession::Ordinary) };
    let keys = keys_of(&group);
    let origins: Option<Vec<usize>> = keys.iter().map(|key| below.origins[*key]).collect();
    let same = |origins: Vec<usize>| {
        origins.iter().all(|origin| sessions.partition().contains(origin))
            && sessions.partition().iter().all(|column| origins.contains(column))
    };
    if !origins.is_some_and(same) {
        return Ok(BySession::Ordinary);
    }
    let Some(calls) = calls.iter().map(|call| below.call(call)).collect() else {
        return Ok(BySession::Attached);
    };
    let Some(stream) = below.plan.downcast_ref::<StreamExec>() else { return Ok(BySession::Attached) };
    let input = below.plan.schema();
    let mode = stream.traits().mode;
    let lateness = sessions.lateness();
    let proctime = stream.traits().time_attribute(below.time) == Some(TimeAttributeKind::Proctime);
    let sessions =
        SessionTvfNode::try_new(below.time, sessions.gap(), keys, context.zone, Arc::clone(&input))?
            .with_proctime(proctime)
            .with_allowed_lateness(lateness);
    let node = SessionAggregateNode::new(sessions, group, calls, input, Arc::clone(schema), mode);
    StreamExec::plan(node, vec![Arc::clone(&below.plan)]).map(BySession::Planned)
}
