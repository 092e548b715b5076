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
use datafusion_streaming_physical_plan::operators::to_changelog::ToChangelogNode;
use datafusion_streaming_physical_plan::operators::window_tvf::WindowTvfNode;
use datafusion_streaming_physical_plan::runtime::StreamExec;

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
            let Expr::Column(time) = window.time() else {
                return plan_err!(
                    "the time column of a window function must be a column, not {}",
                    window.time()
                );
            };
            let time = logical.schema().index_of_column(time)?;
            let zone = StreamingOptions::of(session.config_options()).zone()?;
            let node = WindowTvfNode::try_new(time, window.assigner(), zone, &physical.schema())?;
            return StreamExec::plan(node, vec![Arc::clone(physical)]).map(Some);
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
