//! A table that application code pushes changes into.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, exec_datafusion_err, exec_err, internal_err, plan_err};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, ChangelogMode};
use datafusion_streaming_physical_plan::operators::calc::CalcNode;
use datafusion_streaming_physical_plan::operators::changelog_normalize::ChangelogNormalizeNode;
use datafusion_streaming_physical_plan::runtime::{
    ElementStream, SourceReader, StreamElement, StreamExec, StreamNode, StreamTask, StreamTraits,
    TimeAttribute, TimeAttributeKind,
};
use datafusion_streaming_physical_plan::time::Watermark;
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// An unbounded table whose rows are pushed by application code, through the [`ChangelogSender`]
/// that comes with it. One query can read it.
///
/// ```
/// # use std::sync::Arc;
/// # use datafusion::arrow::datatypes::{DataType, Field, Schema};
/// # use datafusion::prelude::SessionContext;
/// # use datafusion_streaming::tables::ChangelogTable;
/// # use datafusion_streaming::changelog::ChangelogMode;
/// # fn main() -> datafusion::common::Result<()> {
/// # let ctx = SessionContext::new();
/// let schema = Arc::new(Schema::new(vec![Field::new("k", DataType::Int64, false)]));
/// let (table, sender) = ChangelogTable::new(schema, ChangelogMode::INSERT_ONLY, 16);
/// ctx.register_table("events", Arc::new(table))?;
/// // elsewhere: sender.send(changes).await?; sender.watermark(millis).await?;
/// # drop(sender);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ChangelogTable {
    source: Arc<PushSource>,
}

/// Pushes changes and watermarks into a [`ChangelogTable`]. The table ends when the sender and all
/// its clones have been dropped.
#[derive(Debug, Clone)]
pub struct ChangelogSender {
    schema: SchemaRef,
    mode: ChangelogMode,
    elements: Sender<StreamElement>,
}

impl ChangelogTable {
    /// A table of this schema for changes of the kinds in `mode`, and its sender, which waits when
    /// the query is `capacity` batches behind.
    pub fn new(schema: SchemaRef, mode: ChangelogMode, capacity: usize) -> (Self, ChangelogSender) {
        let (sender, receiver) = channel(capacity.max(1));
        let source = PushSource {
            schema: Arc::clone(&schema),
            mode,
            primary_key: vec![],
            rowtime: None,
            receiver: Mutex::new(Some(receiver)),
        };
        (ChangelogTable { source: Arc::new(source) }, ChangelogSender { schema, mode, elements: sender })
    }

    /// The table with a rowtime: the timestamp column that the sender's watermarks are about.
    pub fn with_rowtime(self, column: &str) -> Result<Self> {
        let rowtime = Some(self.index_of(column)?);
        self.changed(|source| PushSource { rowtime, ..source })
    }

    /// The table with a primary key, by which its updates are known.
    pub fn with_primary_key(self, columns: &[&str]) -> Result<Self> {
        let primary_key = columns.iter().map(|column| self.index_of(column)).collect::<Result<_>>()?;
        self.changed(|source| PushSource { primary_key, ..source })
    }

    fn index_of(&self, column: &str) -> Result<usize> {
        match self.source.schema.index_of(column) {
            Ok(index) => Ok(index),
            Err(_) => plan_err!("there is no column {column} in the table"),
        }
    }

    fn changed(self, change: impl FnOnce(PushSource) -> PushSource) -> Result<Self> {
        match Arc::try_unwrap(self.source) {
            Ok(source) => Ok(ChangelogTable { source: Arc::new(change(source)) }),
            Err(_) => plan_err!("a ChangelogTable is set up before it is read"),
        }
    }
}

impl ChangelogSender {
    /// Pushes changes; waits while the query is behind. An error where they do not fit the table,
    /// or where nobody reads it any more.
    pub async fn send(&self, changes: ChangelogBatch) -> Result<()> {
        if changes.schema().fields() != self.schema.fields() {
            return exec_err!("the changes have other columns than the table: {:?}", changes.schema());
        }
        if let Some(kinds) = changes.kinds()
            && let Some(kind) = kinds.iter().find(|kind| !self.mode.contains(*kind))
        {
            return exec_err!("the table takes changes of mode [{}], not {kind}", self.mode);
        }
        self.push(StreamElement::Data(changes)).await
    }

    /// Tells that event time has come to `millis`, in milliseconds since the epoch.
    pub async fn watermark(&self, millis: i64) -> Result<()> {
        self.push(StreamElement::Watermark(Watermark(millis))).await
    }

    /// Tells that nothing will come for a while: others need not wait for this table's watermark.
    pub async fn idle(&self) -> Result<()> {
        self.push(StreamElement::Idle).await
    }

    async fn push(&self, element: StreamElement) -> Result<()> {
        self.elements
            .send(element)
            .await
            .map_err(|_| exec_datafusion_err!("the query that reads the table has ended"))
    }
}

#[async_trait]
impl TableProvider for ChangelogTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.source.schema)
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
        let source = PushSourceNode(Arc::clone(&self.source));
        source_plan(source, &self.source.primary_key, projection)
    }
}

/// The plan of a table that is a streaming source: with a `primary_key` its upserts become full changes. Only the
/// columns of `projection` are put out; `None`: all.
pub fn source_plan(
    source: impl StreamNode + 'static,
    primary_key: &[usize],
    projection: Option<&Vec<usize>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let source = StreamExec::try_new(Arc::new(source), vec![])?;
    let (schema, is_upsert) = (source.schema(), source.traits().mode.is_upsert());
    let mut plan: Arc<dyn ExecutionPlan> = Arc::new(source);
    if is_upsert && !primary_key.is_empty() {
        let node = ChangelogNormalizeNode::new(primary_key.to_vec(), Arc::clone(&schema));
        plan = StreamExec::plan(node, vec![plan])?;
    }
    match projection {
        Some(columns) if !columns.iter().copied().eq(0..schema.fields().len()) => {
            StreamExec::plan(CalcNode::columns(columns, &schema)?, vec![plan])
        }
        _ => Ok(plan),
    }
}

struct PushSource {
    schema: SchemaRef,
    mode: ChangelogMode,
    primary_key: Vec<usize>,
    rowtime: Option<usize>,
    receiver: Mutex<Option<Receiver<StreamElement>>>,
}

impl fmt::Debug for PushSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushSource")
            .field("schema", &self.schema)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct PushSourceNode(Arc<PushSource>);

impl StreamNode for PushSourceNode {
    fn name(&self) -> &'static str {
        "ChangelogSource"
    }

    fn fmt_arguments(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0.schema)
    }

    fn traits(&self, _inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let rowtime = self.0.rowtime.map(|column| TimeAttribute { column, kind: TimeAttributeKind::Rowtime });
        Ok(StreamTraits {
            mode: self.0.mode,
            upsert_keys: (!self.0.primary_key.is_empty())
                .then(|| self.0.primary_key.clone())
                .into_iter()
                .collect(),
            time_attributes: rowtime.into_iter().collect(),
            ..StreamTraits::default()
        })
    }

    fn is_unbounded(&self) -> bool {
        true
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        match self.0.receiver.lock().take() {
            Some(receiver) => task.run_source(PushReader { receiver }),
            None => exec_err!("a ChangelogTable can be read by one query only; register one for each"),
        }
    }
}

struct PushReader {
    receiver: Receiver<StreamElement>,
}

impl SourceReader for PushReader {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<StreamElement>>> {
        self.receiver.recv().map(Ok).boxed()
    }

    /// What has been pushed cannot be pushed again: after a restore the application goes on where
    /// it was.
    fn position(&self) -> Vec<u8> {
        vec![]
    }

    fn restore(&mut self, position: &[u8]) -> Result<()> {
        match position {
            [] => Ok(()),
            _ => internal_err!("a pushed table has no position"),
        }
    }
}
