//! Aggregations of overlapping windows: the rows go into slices, unassigned to windows.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::Result;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::operators::aggregate::AggregateCall;
use datafusion_streaming_physical_plan::operators::slice_aggregate::SliceAggregateNode;
use datafusion_streaming_physical_plan::operators::window_aggregate::GroupColumn;
use datafusion_streaming_physical_plan::operators::window_tvf::WindowTvfNode;
use datafusion_streaming_physical_plan::runtime::{StreamExec, TimeAttributeKind};
use datafusion_streaming_physical_plan::time::WindowAssigner;

use super::PlanContext;
use super::window_columns::{WindowFunction, without_windows};

/// Plans an aggregation of `input` by the window's columns and keys in `group` on slices, where a HOP
/// or CUMULATE is just below. `None`: the windows must be assigned to rows.
pub(super) fn plan_slices(
    group: &[GroupColumn],
    calls: &[AggregateCall],
    input: &Arc<dyn ExecutionPlan>,
    schema: &SchemaRef,
    context: &PlanContext,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(below) = without_windows(input)? else { return Ok(None) };
    let WindowFunction::Fixed(windows) = &below.function else { return Ok(None) };
    let overlaps = match windows.assigner() {
        WindowAssigner::Hop { slide, size, .. } => size % slide == 0 && size > slide,
        WindowAssigner::Cumulate { .. } => true,
        WindowAssigner::Tumble { .. } | WindowAssigner::Session { .. } => false,
    };
    let calls: Option<Vec<_>> = calls.iter().map(|call| below.call(call)).collect();
    let (true, Some(group), Some(calls)) = (overlaps, below.group(group), calls) else { return Ok(None) };
    let Some(stream) = below.plan.downcast_ref::<StreamExec>() else { return Ok(None) };
    if stream.traits().time_attribute(below.time) != Some(TimeAttributeKind::Rowtime) {
        return Ok(None);
    }
    let mode = stream.traits().mode;
    let input = below.plan.schema();
    let windows = WindowTvfNode::try_new(below.time, windows.assigner(), context.zone, &input)?;
    let node = SliceAggregateNode::new(windows, group, calls, input, Arc::clone(schema), mode);
    StreamExec::plan(node, vec![Arc::clone(&below.plan)]).map(Some)
}
