//! Reading the changelog of a query.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::common::Result;
use datafusion::dataframe::DataFrame;
use datafusion::execution::{SessionState, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion_streaming_physical_plan::changelog::ChangelogBatch;
use datafusion_streaming_physical_plan::config::{RootMode, RuntimeMode, StreamingOptions};
use datafusion_streaming_physical_plan::runtime::{
    ElementStream, StreamElement, StreamEnvironment, StreamExec, elements_of,
};
use futures::future::BoxFuture;
use futures::{FutureExt, Stream, StreamExt};

/// Runs a DataFrame as a continuous query.
#[async_trait]
pub trait ChangelogDataFrame {
    /// Starts the query and returns its changelog: every row with its kind, as it comes. Ends when
    /// the input ends. Dropping the stream stops the query.
    async fn execute_changelog(self) -> Result<ChangelogStream>;

    /// [`ChangelogDataFrame::execute_changelog`] with a clock and checkpoints of the caller's.
    async fn execute_changelog_with(self, environment: StreamEnvironment) -> Result<ChangelogStream>;
}

#[async_trait]
impl ChangelogDataFrame for DataFrame {
    async fn execute_changelog(self) -> Result<ChangelogStream> {
        let (state, plan) = self.into_parts();
        ChangelogStream::start(state, &plan).await
    }

    async fn execute_changelog_with(self, environment: StreamEnvironment) -> Result<ChangelogStream> {
        let (mut state, plan) = self.into_parts();
        state.config_mut().set_extension(Arc::new(environment));
        ChangelogStream::start(state, &plan).await
    }
}

/// The changelog of a running query: a stream of [`ChangelogBatch`]es.
pub struct ChangelogStream {
    plan: Arc<dyn ExecutionPlan>,
    elements: ElementStream,
}

impl ChangelogStream {
    async fn start(state: SessionState, plan: &LogicalPlan) -> Result<Self> {
        let (plan, context) = plan_changelog(state, plan, RootMode::Changelog).await?;
        let elements = elements_of(&plan, 0, &context)?;
        Ok(ChangelogStream { plan, elements })
    }

    /// The schema of the rows.
    pub fn schema(&self) -> SchemaRef {
        self.plan.schema()
    }

    /// The plan that runs, for its metrics.
    pub fn plan(&self) -> &Arc<dyn ExecutionPlan> {
        &self.plan
    }

    /// Watermarks and barriers along with the rows.
    pub fn into_elements(self) -> ElementStream {
        self.elements
    }
}

impl Stream for ChangelogStream {
    type Item = Result<ChangelogBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            return match self.elements.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(StreamElement::Data(changes)))) => Poll::Ready(Some(Ok(changes))),
                Poll::Ready(Some(Ok(_))) => continue,
                Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            };
        }
    }
}

/// The physical plan of a query that is read as a changelog, in one partition, and its context.
pub(super) async fn plan_changelog(
    mut state: SessionState,
    plan: &LogicalPlan,
    root: RootMode,
) -> Result<(Arc<dyn ExecutionPlan>, Arc<TaskContext>)> {
    let plan = plan_streaming(&mut state, plan, root).await?;
    Ok((plan, Arc::new(TaskContext::from(&state))))
}

/// The physical plan of the INSERTs of a job, and the session's state that its context is to be made of.
pub(crate) fn plan_job(
    mut state: SessionState,
    plan: LogicalPlan,
) -> BoxFuture<'static, Result<(Arc<dyn ExecutionPlan>, SessionState)>> {
    async move {
        let plan = plan_streaming(&mut state, &plan, RootMode::Changelog).await?;
        Ok((plan, state))
    }
    .boxed()
}

/// The physical plan, whose context is to be made of `state`.
async fn plan_streaming(
    state: &mut SessionState,
    plan: &LogicalPlan,
    root: RootMode,
) -> Result<Arc<dyn ExecutionPlan>> {
    let mut options = StreamingOptions::of(state.config_options());
    options.root = root;
    options.runtime_mode = RuntimeMode::Streaming;
    state.config_mut().options_mut().extensions.insert(options);
    let plan = state.create_physical_plan(plan).await?;
    Ok(match plan.output_partitioning().partition_count() {
        1 => plan,
        _ if plan.is::<StreamExec>() => plan,
        _ => Arc::new(CoalescePartitionsExec::new(plan)),
    })
}
