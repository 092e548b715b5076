//! From the logical nodes of this crate to streaming plan nodes.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use datafusion_streaming_physical_plan::config::StreamingOptions;
use datafusion_streaming_physical_plan::operators::from_changelog::FromChangelogNode;
use datafusion_streaming_physical_plan::operators::join::temporal::TemporalJoinNode;
use datafusion_streaming_physical_plan::operators::join::{LEFT, RIGHT, Residual};
use datafusion_streaming_physical_plan::operators::late_rows::{LateFor, LateRowsNode};
use datafusion_streaming_physical_plan::operators::session::SessionTvfNode;
use datafusion_streaming_physical_plan::operators::set_operation::SetOperationNode;
use datafusion_streaming_physical_plan::operators::state_ttl::StateTtlNode;
use datafusion_streaming_physical_plan::operators::to_changelog::ToChangelogNode;
use datafusion_streaming_physical_plan::operators::unnest::UnnestNode;
use datafusion_streaming_physical_plan::operators::window_tvf::WindowTvfNode;
use datafusion_streaming_physical_plan::runtime::StreamExec;
use datafusion_streaming_physical_plan::time::WindowAssigner;

use super::lookup::lookup_join;
use super::match_recognize::{plan_match_recognize, plan_match_values};
use super::{
    CountingSetOperation, FromChangelog, GlobalAggregate, LateRows, MatchRecognize, MatchValues, StateTtl,
    TemporalJoin, ToChangelog, Unnest, WindowTvf,
};

/// Plans the logical nodes of this crate. [`install`](crate::install) puts it in place; a session
/// with a query planner of its own can add it there instead.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamingExtensionPlanner;

#[async_trait]
impl ExtensionPlanner for StreamingExtensionPlanner {
    async fn plan_extension(
        &self,
        planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        logical_inputs: &[&LogicalPlan],
        physical_inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if let Some(join) = node.as_any().downcast_ref::<TemporalJoin>() {
            let ([left, right], [left_plan, right_plan]) = (logical_inputs, physical_inputs) else {
                return plan_err!("a temporal join has two inputs");
            };
            let create =
                |expr: &Expr, schema: &DFSchema| planner.create_physical_expr(expr, schema, session, context);
            if let Some(node) = lookup_join(join, [left, right], session, create)? {
                return StreamExec::plan(node, vec![Arc::clone(left_plan)]).map(Some);
            }
            let node = temporal_join(join, [left, right], create)?;
            return StreamExec::plan(node, vec![Arc::clone(left_plan), Arc::clone(right_plan)]).map(Some);
        }
        if let Some(set) = node.as_any().downcast_ref::<CountingSetOperation>() {
            let schema = Arc::clone(UserDefinedLogicalNodeCore::schema(set).inner());
            let node = SetOperationNode::new(set.operation(), schema);
            return StreamExec::plan(node, physical_inputs.to_vec()).map(Some);
        }
        if let Some(values) = node.as_any().downcast_ref::<MatchValues>() {
            return Ok(Some(plan_match_values(values)));
        }
        if let Some(recognize) = node.as_any().downcast_ref::<MatchRecognize>() {
            let [input, _values] = physical_inputs else {
                return plan_err!("MATCH_RECOGNIZE has an input, and values that it refers to");
            };
            let create =
                |expr: &Expr, schema: &DFSchema| planner.create_physical_expr(expr, schema, session, context);
            let node = plan_match_recognize(recognize, &create)?;
            return StreamExec::plan(node, vec![Arc::clone(input)]).map(Some);
        }
        let ([logical], [physical]) = (logical_inputs, physical_inputs) else { return Ok(None) };
        if let Some(windows) = node.as_any().downcast_ref::<WindowTvf>() {
            let options = StreamingOptions::of(session.config_options());
            let plan = match window_node(windows, logical, physical, &options)? {
                WindowNode::Fixed(node) => StreamExec::plan(node, vec![Arc::clone(physical)]),
                WindowNode::Session(node) => StreamExec::plan(node, vec![Arc::clone(physical)]),
            };
            return plan.map(Some);
        }
        if let Some(late) = node.as_any().downcast_ref::<LateRows>() {
            let options = StreamingOptions::of(session.config_options());
            let lateness = match (late.windows().is_of_group_by(), late.windows().assigner().is_session()) {
                (false, _) => options.window_lateness(),
                (true, false) => options.group_window_lateness(),
                (true, true) => 0,
            };
            let late_for = match window_node(late.windows(), logical, physical, &options)? {
                WindowNode::Fixed(node) => LateFor::Windows(node, lateness),
                WindowNode::Session(node) => LateFor::Sessions(node.with_allowed_lateness(lateness)),
            };
            let node = LateRowsNode::new(late_for, physical.schema());
            return StreamExec::plan(node, vec![Arc::clone(physical)]).map(Some);
        }
        if let Some(unnest) = node.as_any().downcast_ref::<Unnest>() {
            let collection =
                planner.create_physical_expr(unnest.collection(), logical.schema(), session, context)?;
            let schema = Arc::clone(UserDefinedLogicalNodeCore::schema(unnest).inner());
            let condition = unnest.condition().map(|condition| {
                planner.create_physical_expr(
                    condition,
                    UserDefinedLogicalNodeCore::schema(unnest),
                    session,
                    context,
                )
            });
            let node = UnnestNode::new(collection, unnest.ordinality(), schema);
            let node = if unnest.is_outer() { node.outer(condition.transpose()?) } else { node };
            return StreamExec::plan(node, vec![Arc::clone(physical)]).map(Some);
        }
        if let Some(changelog) = node.as_any().downcast_ref::<FromChangelog>() {
            let codes = changelog.codes().to_vec();
            let node = FromChangelogNode::try_new(changelog.op()?, codes, &physical.schema())?;
            return StreamExec::plan(node, vec![Arc::clone(physical)]).map(Some);
        }
        if let Some(changelog) = node.as_any().downcast_ref::<ToChangelog>() {
            let codes = changelog.codes().clone();
            let node = ToChangelogNode::new(changelog.op(), codes, &physical.schema());
            return StreamExec::plan(node, vec![Arc::clone(physical)]).map(Some);
        }
        if let Some(hint) = node.as_any().downcast_ref::<StateTtl>() {
            let node = StateTtlNode::new(hint.millis(), physical.schema());
            return StreamExec::plan(node, vec![Arc::clone(physical)]).map(Some);
        }
        if node.as_any().is::<GlobalAggregate>() {
            return Ok(Some(Arc::clone(physical)));
        }
        Ok(None)
    }
}

/// The streaming node of a window function.
enum WindowNode {
    Fixed(WindowTvfNode),
    Session(SessionTvfNode),
}

fn window_node(
    windows: &WindowTvf,
    logical: &LogicalPlan,
    physical: &Arc<dyn ExecutionPlan>,
    options: &StreamingOptions,
) -> Result<WindowNode> {
    let column = |expr: &Expr| match expr {
        Expr::Column(column) => logical.schema().index_of_column(column),
        other => plan_err!("the time column of a window function must be a column, not {other}"),
    };
    let (time, zone, schema) = (column(windows.time())?, options.zone()?, physical.schema());
    let of_group_by = windows.is_of_group_by();
    Ok(match windows.assigner() {
        WindowAssigner::Session { gap } => {
            let partition = windows.partition_by().iter().map(column).collect::<Result<_>>()?;
            let node = SessionTvfNode::try_new(time, gap, partition, zone, schema)?;
            WindowNode::Session(node.with_of_group_by(of_group_by))
        }
        assigner => {
            let node = WindowTvfNode::try_new(time, assigner, zone, &schema)?;
            WindowNode::Fixed(node.with_of_group_by(of_group_by))
        }
    })
}

fn temporal_join(
    join: &TemporalJoin,
    [left, right]: [&LogicalPlan; 2],
    create: impl Fn(&Expr, &DFSchema) -> Result<Arc<dyn PhysicalExpr>>,
) -> Result<TemporalJoinNode> {
    let place = |side: &LogicalPlan, expr: &Expr| match expr {
        Expr::Column(column) => side.schema().index_of_column(column),
        other => plan_err!("FOR SYSTEM_TIME AS OF takes columns, not {other}"),
    };
    let time = place(left, join.time())?;
    let keys = [
        join.on().iter().map(|(key, _)| place(left, key)).collect::<Result<Vec<_>>>()?,
        join.on().iter().map(|(_, key)| place(right, key)).collect::<Result<Vec<_>>>()?,
    ];
    let residual = join.filter().map(|filter| residual_of(filter, [left, right], &create));
    let inputs = [left, right].map(|side| Arc::clone(side.schema().inner()));
    let schema = Arc::clone(UserDefinedLogicalNodeCore::schema(join).inner());
    TemporalJoinNode::try_new(join.join_type(), keys, time, residual.transpose()?, inputs, schema)
}

/// A condition on the columns of both sides of a join.
pub(super) fn residual_of(
    condition: &Expr,
    [left, right]: [&LogicalPlan; 2],
    create: impl Fn(&Expr, &DFSchema) -> Result<Arc<dyn PhysicalExpr>>,
) -> Result<Residual> {
    let both = left.schema().join(right.schema())?;
    let width = left.schema().fields().len();
    let columns = (0..both.fields().len())
        .map(|column| if column < width { (LEFT, column) } else { (RIGHT, column - width) });
    Ok(Residual::new(create(condition, &both)?, columns.collect(), Arc::clone(both.inner())))
}
