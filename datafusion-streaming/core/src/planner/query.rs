//! The query planner of a session with the extension.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::execution::SessionState;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use datafusion_streaming_physical_plan::config::{RootMode, StreamingOptions};

use super::{
    CountingSetOperation, FromChangelog, GlobalAggregate, LateRows, MatchRecognize, StateTtl,
    StreamingExtensionPlanner, TemporalJoin, ToChangelog, Unnest, WindowTvf,
};

/// Plans queries with nodes of this crate, and leaves all others to the planner that the session
/// had before.
pub struct StreamingQueryPlanner {
    previous: Option<Arc<dyn QueryPlanner + Send + Sync>>,
    planners: Vec<Arc<dyn ExtensionPlanner + Send + Sync>>,
}

impl StreamingQueryPlanner {
    /// A planner in front of `previous`. `planners` plan extension nodes of the user's in queries
    /// that have nodes of this crate, too.
    pub fn new(
        previous: Option<Arc<dyn QueryPlanner + Send + Sync>>,
        planners: Vec<Arc<dyn ExtensionPlanner + Send + Sync>>,
    ) -> Self {
        StreamingQueryPlanner { previous, planners }
    }

    async fn plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        match &self.previous {
            Some(previous) if !has_streaming_nodes(plan)? => {
                previous.create_physical_plan(plan, session).await
            }
            _ => {
                let mut planners: Vec<Arc<dyn ExtensionPlanner + Send + Sync>> =
                    vec![Arc::new(StreamingExtensionPlanner)];
                planners.extend(self.planners.iter().cloned());
                DefaultPhysicalPlanner::with_extension_planners(planners)
                    .create_physical_plan(plan, session)
                    .await
            }
        }
    }
}

impl fmt::Debug for StreamingQueryPlanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamingQueryPlanner").field("previous", &self.previous).finish_non_exhaustive()
    }
}

fn has_streaming_nodes(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply(|node| {
        if let LogicalPlan::Extension(extension) = node {
            let node = extension.node.as_any();
            found |= node.is::<WindowTvf>()
                || node.is::<GlobalAggregate>()
                || node.is::<LateRows>()
                || node.is::<ToChangelog>()
                || node.is::<CountingSetOperation>()
                || node.is::<StateTtl>()
                || node.is::<FromChangelog>()
                || node.is::<MatchRecognize>()
                || node.is::<Unnest>()
                || node.is::<TemporalJoin>();
        }
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

#[async_trait]
impl QueryPlanner for StreamingQueryPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // a plan that is only shown may be one that cannot be read as rows
        let is_explain = matches!(plan, LogicalPlan::Explain(_));
        if is_explain && let Some(state) = session.as_any().downcast_ref::<SessionState>() {
            let mut state = state.clone();
            let mut options = StreamingOptions::of(state.config_options());
            options.root = RootMode::Explain;
            state.config_mut().options_mut().extensions.insert(options);
            return self.plan(plan, &state).await;
        }
        self.plan(plan, session).await
    }
}
