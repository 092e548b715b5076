//! From the logical nodes of this crate to streaming plan nodes.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use datafusion_streaming_physical_plan::config::StreamingOptions;
use datafusion_streaming_physical_plan::operators::session::SessionTvfNode;
use datafusion_streaming_physical_plan::operators::to_changelog::ToChangelogNode;
use datafusion_streaming_physical_plan::operators::window_tvf::WindowTvfNode;
use datafusion_streaming_physical_plan::runtime::StreamExec;
use datafusion_streaming_physical_plan::time::WindowAssigner;

use super::{GlobalAggregate, ToChangelog, WindowTvf};

/// Plans the logical nodes of this crate. [`install`](crate::install) puts it in place; a session
/// with a query planner of its own can add it there instead.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamingExtensionPlanner;

#[async_trait]
impl ExtensionPlanner for StreamingExtensionPlanner {
    async fn plan_extension(
        &self,
        _planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        logical_inputs: &[&LogicalPlan],
        physical_inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        _context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let ([logical], [physical]) = (logical_inputs, physical_inputs) else { return Ok(None) };
        if let Some(window) = node.as_any().downcast_ref::<WindowTvf>() {
            let column = |expr: &Expr| match expr {
                Expr::Column(column) => logical.schema().index_of_column(column),
                other => plan_err!("the time column of a window function must be a column, not {other}"),
            };
            let time = column(window.time())?;
            let zone = StreamingOptions::of(session.config_options()).zone()?;
            let inputs = vec![Arc::clone(physical)];
            let plan = match window.assigner() {
                WindowAssigner::Session { gap } => {
                    let partition = window.partition_by().iter().map(column).collect::<Result<_>>()?;
                    let node = SessionTvfNode::try_new(time, gap, partition, zone, physical.schema())?;
                    StreamExec::plan(node.with_of_group_by(window.is_of_group_by()), inputs)
                }
                assigner => {
                    let node = WindowTvfNode::try_new(time, assigner, zone, &physical.schema())?;
                    StreamExec::plan(node.with_of_group_by(window.is_of_group_by()), inputs)
                }
            };
            return plan.map(Some);
        }
        if node.as_any().is::<ToChangelog>() {
            let node = ToChangelogNode::new(&physical.schema());
            return StreamExec::plan(node, vec![Arc::clone(physical)]).map(Some);
        }
        if node.as_any().is::<GlobalAggregate>() {
            return Ok(Some(Arc::clone(physical)));
        }
        Ok(None)
    }
}
