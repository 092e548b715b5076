//! Queries whose inputs are fed by hand, in the caller's thread: planned once from SQL, then started as
//! often as one likes, each time with empty state.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result, exec_err, plan_datafusion_err};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_streaming::changelog::ChangelogMode;
use datafusion_streaming::tables::source_plan;
use datafusion_streaming::{ChangelogDataFrame, FlinkSql};
use datafusion_streaming_physical_plan::runtime::{
    ElementStream, StreamElement, StreamNode, StreamTask, StreamTraits, TimeAttribute, TimeAttributeKind,
    elements_of,
};
use futures::{StreamExt, stream};
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};

/// What is to be planned.
#[derive(Debug, Clone, Default)]
pub struct Definition {
    /// `SET` before the query: options and their values.
    pub options: Vec<(&'static str, String)>,
    /// The tables, by their names.
    pub tables: Vec<(&'static str, FedTable)>,
    /// The query, in Flink SQL.
    pub sql: &'static str,
    /// Only the part of the plan under the first node of this name, that node included.
    pub only: Option<&'static str>,
}

/// An input: its columns and what is known of it.
#[derive(Debug, Clone)]
pub struct FedTable {
    /// The columns.
    pub schema: SchemaRef,
    /// The kinds of its changes.
    pub mode: ChangelogMode,
    /// The columns of the primary key.
    pub primary_key: Vec<usize>,
    /// The rowtime column, in milliseconds.
    pub rowtime: Option<usize>,
}

impl FedTable {
    /// A table that rows are only added to, without a rowtime.
    pub fn appends(schema: SchemaRef) -> Self {
        FedTable { schema, mode: ChangelogMode::INSERT_ONLY, primary_key: vec![], rowtime: None }
    }
}

/// The elements that wait for the query, for each table.
type Queue = Arc<Mutex<VecDeque<StreamElement>>>;

/// A planned query.
pub struct HandFed {
    runtime: Runtime,
    context: Arc<TaskContext>,
    plan: Arc<dyn ExecutionPlan>,
    queues: Vec<Queue>,
}

impl fmt::Debug for HandFed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandFed").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl HandFed {
    /// Plans a query.
    pub fn try_new(definition: &Definition) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let session = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(1));
        datafusion_streaming::install(&session)?;
        let mut queues = vec![];
        for (name, table) in &definition.tables {
            let queue = Queue::default();
            queues.push(Arc::clone(&queue));
            session.register_table(*name, Arc::new(Fed(FedNode { table: table.clone(), queue })))?;
        }
        let (plan, context) = runtime.block_on(async {
            for (key, value) in &definition.options {
                session.flink_sql(&format!("SET '{key}' = '{value}'")).await?;
            }
            let frame = session.flink_sql(definition.sql).await?;
            let context = Arc::new(frame.task_ctx());
            Ok::<_, DataFusionError>((Arc::clone(frame.execute_changelog().await?.plan()), context))
        })?;
        let plan = match definition.only {
            None => plan,
            Some(name) => find(&plan, name).ok_or_else(|| {
                plan_datafusion_err!("there is no {name} in the plan of {}", definition.sql)
            })?,
        };
        Ok(HandFed { runtime, context, plan, queues })
    }

    /// Bytes of state of all operators, of each what it last held, summed over all starts of the query.
    pub fn state_bytes(&self) -> usize {
        gauge(&self.plan, "state_bytes")
    }

    /// Starts the query with empty state.
    pub fn start(&self) -> Result<Running<'_>> {
        let _guard = self.runtime.enter();
        self.queues.iter().for_each(|queue| queue.lock().clear());
        Ok(Running { elements: elements_of(&self.plan, 0, &self.context)?, query: self })
    }
}

/// The sum of a gauge over a plan.
fn gauge(plan: &Arc<dyn ExecutionPlan>, name: &str) -> usize {
    let own = plan.metrics().and_then(|metrics| metrics.sum_by_name(name)).map_or(0, |sum| sum.as_usize());
    own + plan.children().into_iter().map(|child| gauge(child, name)).sum::<usize>()
}

/// The topmost node of this name.
fn find(plan: &Arc<dyn ExecutionPlan>, name: &str) -> Option<Arc<dyn ExecutionPlan>> {
    match plan.name() == name {
        true => Some(Arc::clone(plan)),
        false => plan.children().into_iter().find_map(|child| find(child, name)),
    }
}

/// A query that runs.
pub struct Running<'a> {
    query: &'a HandFed,
    elements: ElementStream,
}

impl fmt::Debug for Running<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("query", self.query).finish_non_exhaustive()
    }
}

impl Running<'_> {
    /// Feeds an element to the table of this number and takes all that comes out of the query: the
    /// number of its rows.
    pub fn feed(&mut self, table: usize, element: StreamElement) -> Result<usize> {
        let Some(queue) = self.query.queues.get(table) else {
            return exec_err!("the query has no table number {table}");
        };
        queue.lock().push_back(element);
        let _guard = self.query.runtime.enter();
        let mut context = std::task::Context::from_waker(Waker::noop());
        let mut rows = 0;
        while let Poll::Ready(Some(element)) = Pin::new(&mut self.elements).poll_next_unpin(&mut context) {
            if let StreamElement::Data(changes) = element? {
                rows += changes.num_rows();
            }
        }
        Ok(rows)
    }
}

#[derive(Debug, Clone)]
struct FedNode {
    table: FedTable,
    queue: Queue,
}

impl StreamNode for FedNode {
    fn name(&self) -> &'static str {
        "HandFedSource"
    }

    fn fmt_arguments(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.table.schema)
    }

    fn traits(&self, _inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let attribute = |column| TimeAttribute { column, kind: TimeAttributeKind::Rowtime };
        let key = &self.table.primary_key;
        Ok(StreamTraits {
            mode: self.table.mode,
            upsert_keys: (!key.is_empty()).then(|| key.clone()).into_iter().collect(),
            time_attributes: self.table.rowtime.map(attribute).into_iter().collect(),
            ..StreamTraits::default()
        })
    }

    fn is_unbounded(&self) -> bool {
        true
    }

    fn start(&self, _task: StreamTask<'_>) -> Result<ElementStream> {
        let queue = Arc::clone(&self.queue);
        Ok(Box::pin(stream::poll_fn(move |_| match queue.lock().pop_front() {
            Some(element) => Poll::Ready(Some(Ok(element))),
            None => Poll::Pending,
        })))
    }
}

#[derive(Debug)]
struct Fed(FedNode);

#[async_trait]
impl TableProvider for Fed {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _session: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        source_plan(self.0.clone(), &self.0.table.primary_key, projection)
    }
}
