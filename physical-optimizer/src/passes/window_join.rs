//! Window joins: equal windows on both sides.

use std::sync::Arc;

use datafusion_common::{JoinSide, JoinType, NullEquality, Result};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::joins::HashJoinExec;
use datafusion_streaming_physical_plan::operators::window_join::{
    WindowColumns, WindowJoinFilter, WindowJoinInput, WindowJoinNode,
};
use datafusion_streaming_physical_plan::runtime::{StreamExec, WindowProperties};
use datafusion_streaming_physical_plan::time::LocalZone;

use super::PlanContext;

/// Plans a join whose keys are window_start and window_end of the same kind of windows, and perhaps
/// others. `None` for any other plan: such a join is an ordinary one, as in Flink.
pub(super) fn plan_window_join(
    plan: &Arc<dyn ExecutionPlan>,
    inputs: &[Arc<dyn ExecutionPlan>],
    context: &PlanContext,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(join) = plan.downcast_ref::<HashJoinExec>() else { return Ok(None) };
    let [left, right] = inputs else { return Ok(None) };
    let (Some(left_window), Some(right_window)) = (window_of(left), window_of(right)) else {
        return Ok(None);
    };
    let same =
        left_window.assigner == right_window.assigner && left_window.local_time == right_window.local_time;
    if !same || join.null_aware || matches!(join.join_type, JoinType::LeftMark | JoinType::RightMark) {
        return Ok(None);
    }
    let lateness = context.options.window_lateness();
    let is_updated = |input: &Arc<dyn ExecutionPlan>| {
        input.downcast_ref::<StreamExec>().is_some_and(|stream| !stream.traits().mode.is_insert_only())
    };
    if lateness > 0 && (is_updated(left) || is_updated(right)) {
        // windows that late rows update are joined as any changing tables
        return Ok(None);
    }
    let (mut starts, mut ends) = (None, None);
    let (mut left_keys, mut right_keys) = (vec![], vec![]);
    for (l, r) in join.on() {
        let (Some(l), Some(r)) = (place(l), place(r)) else { return Ok(None) };
        let both = |of: fn(&WindowProperties) -> &Vec<usize>| {
            of(left_window).contains(&l) && of(right_window).contains(&r)
        };
        if both(|window| &window.start) {
            starts = Some((l, r));
        } else if both(|window| &window.end) {
            ends = Some((l, r));
        } else if !both(|window| &window.time) {
            left_keys.push(l);
            right_keys.push(r);
        }
    }
    let (Some(starts), Some(ends)) = (starts, ends) else { return Ok(None) };
    let zone = if left_window.local_time { context.zone } else { LocalZone::UTC };
    let left_input = WindowJoinInput {
        window: WindowColumns { start: starts.0, end: ends.0, zone },
        keys: left_keys,
        schema: left.schema(),
    };
    let right_input = WindowJoinInput {
        window: WindowColumns { start: starts.1, end: ends.1, zone },
        keys: right_keys,
        schema: right.schema(),
    };
    let filter = join.filter().map(|filter| WindowJoinFilter {
        condition: Arc::clone(filter.expression()),
        columns: filter.column_indices().iter().map(|column| (column.side, column.index)).collect(),
        schema: Arc::clone(filter.schema()),
    });
    let node = WindowJoinNode {
        inputs: [left_input, right_input],
        join_type: join.join_type,
        null_equals_null: join.null_equality() == NullEquality::NullEqualsNull,
        filter,
        output: output_of(join, left.schema().fields().len(), right.schema().fields().len()),
        schema: plan.schema(),
        lateness,
    };
    StreamExec::plan(node, inputs.to_vec()).map(Some)
}

/// The windows of a streaming plan over event time.
fn window_of(plan: &Arc<dyn ExecutionPlan>) -> Option<&WindowProperties> {
    let stream = plan.downcast_ref::<StreamExec>()?;
    stream.traits().window.as_ref().filter(|window| window.rowtime)
}

fn place(expression: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    expression.downcast_ref::<Column>().map(Column::index)
}

/// The side and place of each column of the output.
fn output_of(join: &HashJoinExec, left: usize, right: usize) -> Vec<(JoinSide, usize)> {
    let lefts = (0..left).map(|column| (JoinSide::Left, column));
    let rights = (0..right).map(|column| (JoinSide::Right, column));
    let all: Vec<_> = match join.join_type {
        JoinType::LeftSemi | JoinType::LeftAnti => lefts.collect(),
        JoinType::RightSemi | JoinType::RightAnti => rights.collect(),
        _ => lefts.chain(rights).collect(),
    };
    match &join.projection {
        Some(projection) => projection.iter().map(|column| all[*column]).collect(),
        None => all,
    }
}
