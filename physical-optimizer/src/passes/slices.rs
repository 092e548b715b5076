//! Window aggregations: on slices where the window function is just below, and in two phases.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::Result;
use datafusion_physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion_streaming_physical_plan::operators::aggregate::AggregateCall;
use datafusion_streaming_physical_plan::operators::local_window_aggregate::{
    LocalWindowAggregateNode, SliceSource,
};
use datafusion_streaming_physical_plan::operators::slice_aggregate::SliceAggregateNode;
use datafusion_streaming_physical_plan::operators::window_aggregate::{GroupColumn, WindowAggregateNode};
use datafusion_streaming_physical_plan::operators::window_tvf::WindowTvfNode;
use datafusion_streaming_physical_plan::runtime::{StreamExec, TimeAttributeKind};
use datafusion_streaming_physical_plan::time::WindowAssigner;

use super::aggregate::is_mergeable;
use super::window_columns::{WindowFunction, without_windows};
use super::{Phases, PlanContext};

/// Plans an aggregation of `input` by the window's columns and keys in `group` on slices, where a TUMBLE,
/// HOP or CUMULATE is just below. `None`: the windows must be assigned to rows.
pub(super) fn plan_slices(
    group: &[GroupColumn],
    calls: &[AggregateCall],
    input: &Arc<dyn ExecutionPlan>,
    schema: &SchemaRef,
    context: &PlanContext,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(below) = without_windows(input)? else { return Ok(None) };
    let WindowFunction::Fixed(windows) = &below.function else { return Ok(None) };
    let has_slices = match windows.assigner() {
        WindowAssigner::Hop { slide, size, .. } => size % slide == 0,
        WindowAssigner::Tumble { .. } | WindowAssigner::Cumulate { .. } => true,
        WindowAssigner::Session { .. } => false,
    };
    let calls: Option<Vec<_>> = calls.iter().map(|call| below.call(call)).collect();
    let (true, Some(group), Some(calls)) = (has_slices, below.group(group), calls) else { return Ok(None) };
    let Some(stream) = below.plan.downcast_ref::<StreamExec>() else { return Ok(None) };
    if stream.traits().time_attribute(below.time) != Some(TimeAttributeKind::Rowtime) {
        return Ok(None);
    }
    let mode = stream.traits().mode;
    let input = below.plan.schema();
    let windows = WindowTvfNode::try_new(below.time, windows.assigner(), context.zone, &input)?
        .with_of_group_by(windows.is_of_group_by());
    let keys = keys_of(&group);
    let two_phases = !windows.is_of_group_by() && in_two_phases(&calls, &keys, &below.plan, context);
    let node = SliceAggregateNode::new(
        windows.clone(),
        group,
        calls.clone(),
        Arc::clone(&input),
        Arc::clone(schema),
        mode,
    );
    if !two_phases {
        return StreamExec::plan(node, vec![below.plan]).map(Some);
    }
    let slices = SliceSource::Time(windows);
    let local = LocalWindowAggregateNode::try_new(keys, slices, calls, input, !mode.is_insert_only())?;
    let node = node.with_partials(&local);
    let local = StreamExec::plan(local, vec![below.plan])?;
    StreamExec::plan(node, vec![local]).map(Some)
}

/// Plans an aggregation of rows that carry their windows.
pub(super) fn plan_windows(
    node: WindowAggregateNode,
    input: &Arc<dyn ExecutionPlan>,
    context: &PlanContext,
) -> Result<Arc<dyn ExecutionPlan>> {
    let is_fixed = input
        .downcast_ref::<StreamExec>()
        .and_then(|stream| stream.traits().window.as_ref())
        .is_some_and(|window| window.rowtime && !window.assigner.is_session());
    if !is_fixed || !node.fires_once() || !in_two_phases(node.calls(), &node.keys(), input, context) {
        return StreamExec::plan(node, vec![Arc::clone(input)]);
    }
    let local = node.local_phase()?;
    let node = node.with_partials(&local);
    let local = StreamExec::plan(local, vec![Arc::clone(input)])?;
    StreamExec::plan(node, vec![local])
}

/// Whether rows are aggregated before the exchange and their aggregates behind it. Unless it is asked for,
/// only if there is an exchange: without one, a first phase saves nothing.
fn in_two_phases(
    calls: &[AggregateCall],
    keys: &[usize],
    input: &Arc<dyn ExecutionPlan>,
    context: &PlanContext,
) -> bool {
    let partitions = input.output_partitioning().partition_count();
    let is_exchanged = partitions > 1 || (!keys.is_empty() && context.parallelism > 1);
    is_mergeable(calls)
        && match context.phases() {
            Phases::One => false,
            Phases::Two => true,
            Phases::Auto => is_exchanged,
        }
}

/// The columns of the group that are keys.
pub(super) fn keys_of(group: &[GroupColumn]) -> Vec<usize> {
    let key = |column: &GroupColumn| match column {
        GroupColumn::Key(key) => Some(*key),
        _ => None,
    };
    group.iter().filter_map(key).collect()
}
