//! Native nodes to streaming nodes, bottom up.

use std::sync::Arc;

use datafusion_common::{Result, plan_err};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::aggregates::AggregateExec;
use datafusion_physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion_physical_plan::execution_plan::replace_children_if_necessary;
use datafusion_physical_plan::filter::FilterExec;
use datafusion_physical_plan::projection::ProjectionExec;
use datafusion_physical_plan::repartition::RepartitionExec;
use datafusion_physical_plan::union::UnionExec;
use datafusion_streaming_physical_plan::operators::calc::CalcNode;
use datafusion_streaming_physical_plan::operators::late_rows::LateRowsNode;
use datafusion_streaming_physical_plan::operators::match_recognize::MatchRecognizeNode;
use datafusion_streaming_physical_plan::operators::native_sink::NativeSinkNode;
use datafusion_streaming_physical_plan::operators::session::SessionTvfNode;
use datafusion_streaming_physical_plan::operators::union::UnionNode;
use datafusion_streaming_physical_plan::operators::window_tvf::WindowTvfNode;
use datafusion_streaming_physical_plan::runtime::{StreamExec, TimeAttributeKind};

use super::aggregate::{is_final, plan_aggregate};
use super::join::plan_join;
use super::normalize;
use super::over::plan_over;
use super::rank::plan_rank;
use super::sort_limit::plan_sort_limit;
use super::source::native_source;
use super::temporal::plan_temporal_join;
use super::upsert_key::under_required_keys;
use super::window_join::plan_window_join;
use super::window_rank::plan_window_rank;
use super::{PlanContext, is_streaming};

/// The streaming form of a plan that reads a streaming table.
pub(crate) fn recognise(
    plan: Arc<dyn ExecutionPlan>,
    context: &PlanContext,
) -> Result<Arc<dyn ExecutionPlan>> {
    if plan.children().is_empty() {
        return match plan.is::<StreamExec>() {
            true => Ok(plan),
            false => native_source(plan, context),
        };
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>().filter(|aggregate| is_final(aggregate)) {
        return plan_aggregate(aggregate, context, |input| recognise(input, context));
    }
    if let Some(planned) = plan_window_rank(&plan, context)? {
        return Ok(planned);
    }
    let input = |input| match is_streaming(&input, context) {
        true => recognise(input, context),
        false => native_source(input, context),
    };
    if let Some(planned) = plan_rank(&plan, context, input)? {
        return Ok(planned);
    }
    if let Some(planned) = plan_over(&plan, context, input)? {
        return Ok(planned);
    }
    if let Some(planned) = plan_sort_limit(&plan, context, input)? {
        return Ok(planned);
    }
    let children = plan.children().into_iter();
    let child = |child: &Arc<dyn ExecutionPlan>| match is_streaming(child, context) {
        true => recognise(Arc::clone(child), context),
        // a part of the query that does not stream is read as it is
        false => native_source(Arc::clone(child), context),
    };
    let children = children.map(child).collect::<Result<Vec<_>>>()?;
    if let Some(planned) = plan_window_join(&plan, &children, context)? {
        return Ok(planned);
    }
    replace(plan, children, context)
}

/// The streaming node for a native node whose inputs are streaming; a node that has none is left for
/// the verifier.
fn replace(
    plan: Arc<dyn ExecutionPlan>,
    mut inputs: Vec<Arc<dyn ExecutionPlan>>,
    context: &PlanContext,
) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(join) = plan_join(&plan, &inputs, context)? {
        return Ok(join);
    }
    if let Some(join) = plan_temporal_join(&plan, &inputs)? {
        return Ok(join);
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let predicate = Arc::clone(filter.predicate());
        let input = inputs.swap_remove(0);
        if filter.projection().is_none()
            && let Some(normalized) = normalize::filtered(&predicate, &input)?
        {
            return Ok(normalized);
        }
        let node = match filter.projection() {
            None => CalcNode::filter(predicate, input.schema()),
            Some(columns) => {
                let column = |column: &usize| {
                    Arc::new(Column::new(input.schema().field(*column).name(), *column))
                        as Arc<dyn PhysicalExpr>
                };
                CalcNode::filter_project(predicate, columns.iter().map(column).collect(), filter.schema())
            }
        };
        return StreamExec::plan(node, vec![input]);
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let expressions = projection.expr().iter().map(|projected| Arc::clone(&projected.expr)).collect();
        return project(expressions, &plan, inputs.swap_remove(0));
    }
    if let Some(sink) = NativeSinkNode::try_new(&plan) {
        return StreamExec::plan(sink, inputs);
    }
    if plan.is::<UnionExec>() {
        return StreamExec::plan(UnionNode::new(plan.schema()), inputs);
    }
    if plan.is::<RepartitionExec>() || plan.is::<CoalescePartitionsExec>() {
        // streaming nodes have exchanges of their own
        return Ok(inputs.swap_remove(0));
    }
    check_time_attribute(&plan, &inputs)?;
    if let Some(sessions) = with_time(&plan, &inputs, context) {
        return StreamExec::plan(sessions, inputs);
    }
    if let Some(matches) = timed_match(&plan, &inputs)? {
        return StreamExec::plan(matches, inputs);
    }
    let inputs = under_required_keys(&plan, inputs, context)?;
    replace_children_if_necessary(plan, inputs)
}

/// A window function over a stream needs a time that the stream goes by.
fn check_time_attribute(plan: &Arc<dyn ExecutionPlan>, inputs: &[Arc<dyn ExecutionPlan>]) -> Result<()> {
    let Some(stream) = plan.downcast_ref::<StreamExec>() else { return Ok(()) };
    let node = stream.node();
    let sessions = node.downcast_ref::<SessionTvfNode>().map(SessionTvfNode::windows);
    let late = node.downcast_ref::<LateRowsNode>().map(LateRowsNode::windows);
    let Some(window) = node.downcast_ref::<WindowTvfNode>().or(sessions).or(late) else { return Ok(()) };
    let Some(input) = inputs.first().and_then(|input| input.downcast_ref::<StreamExec>()) else {
        return Ok(());
    };
    let kind = input.traits().time_attribute(window.time_column());
    if late.is_some() && kind == Some(TimeAttributeKind::Proctime) {
        return plan_err!(
            "LATE_ROWS: no row is late for {}, which goes by the processing time {}; take a rowtime",
            window.assigner(),
            window.time_name()
        );
    }
    if kind.is_none() {
        return plan_err!(
            "{} needs a time attribute, but the column {} is not one: declare WATERMARK FOR it in its table (or WITH \
             ORDER of an unbounded DataFusion table), and pass it on as it is; the result of an aggregate, of a cast \
             or of an expression is no time attribute",
            window.assigner(),
            window.time_name()
        );
    }
    Ok(())
}

/// Sessions with what the logical plan does not know of: whether they are over processing time, and their
/// allowed lateness.
fn with_time(
    plan: &Arc<dyn ExecutionPlan>,
    inputs: &[Arc<dyn ExecutionPlan>],
    context: &PlanContext,
) -> Option<SessionTvfNode> {
    let sessions = plan.downcast_ref::<StreamExec>()?.node().downcast_ref::<SessionTvfNode>()?;
    let input = inputs.first()?.downcast_ref::<StreamExec>()?;
    let kind = input.traits().time_attribute(sessions.windows().time_column())?;
    let sessions = sessions.clone().with_proctime(kind == TimeAttributeKind::Proctime);
    Some(match sessions.windows().is_of_group_by() {
        true => sessions,
        false => sessions.with_allowed_lateness(context.options.window_lateness()),
    })
}

/// A MATCH_RECOGNIZE with the kind of the time that it orders by, which the logical plan does not know.
fn timed_match(
    plan: &Arc<dyn ExecutionPlan>,
    inputs: &[Arc<dyn ExecutionPlan>],
) -> Result<Option<MatchRecognizeNode>> {
    let node = plan.downcast_ref::<StreamExec>().and_then(|stream| stream.node().downcast_ref());
    let Some(node): Option<&MatchRecognizeNode> = node else { return Ok(None) };
    let input = inputs.first().and_then(|input| input.downcast_ref::<StreamExec>());
    match input.and_then(|input| input.traits().time_attribute(node.time)) {
        Some(kind) => Ok(Some(MatchRecognizeNode { kind, ..node.clone() })),
        None => plan_err!(
            "MATCH_RECOGNIZE must order by a time attribute first, but the column {} is not one: declare WATERMARK FOR \
             it in its table (or WITH ORDER of an unbounded DataFusion table), or order by PROCTIME(), and pass it on \
             as it is",
            node.time_name()
        ),
    }
}

/// A projection; over a filter alone, the two become one Calc.
fn project(
    expressions: Vec<Arc<dyn PhysicalExpr>>,
    plan: &Arc<dyn ExecutionPlan>,
    input: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(stream) = input.downcast_ref::<StreamExec>()
        && let Some(calc) = stream.node().downcast_ref::<CalcNode>()
        && let Some(filter) = calc.filter_only()
    {
        let node = CalcNode::filter_project(Arc::clone(filter), expressions, plan.schema());
        return StreamExec::plan(node, stream.inputs().to_vec());
    }
    StreamExec::plan(CalcNode::project(expressions, plan.schema()), vec![input])
}
