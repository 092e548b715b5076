//! Sinks: the roots of INSERT INTO.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{Result, plan_err};
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use datafusion_streaming_physical_plan::runtime::{
    Distribution, ElementStream, JobScope, OperatorId, OperatorMetrics, StreamElement, StreamNode,
    StreamTask, StreamTraits, SubtaskCheckpoints, TableSnapshot, in_operator,
};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};

use super::{Connector, TableDefinition};

/// Writes the changes of one partition of a query.
///
/// In a job, output and state go together: at a barrier [`Sink::snapshot`] says what has been written since the
/// last one, and once the checkpoint is complete the connector's [`Committer`] makes it visible.
pub trait Sink: Send {
    /// Writes changes. Of a connector that does not take `-U` rows they have been dropped.
    fn write<'a>(&'a mut self, changes: &'a ChangelogBatch) -> BoxFuture<'a, Result<()>>;

    /// The query has ended: everything must be where readers find it, or in a job be ready to be committed.
    fn finish(&mut self) -> BoxFuture<'_, Result<()>>;

    /// What a checkpoint must keep of the output so far.
    fn snapshot(&mut self) -> BoxFuture<'_, Result<Vec<TableSnapshot>>> {
        futures::future::ready(Ok(vec![])).boxed()
    }

    /// Goes back to a checkpoint, before the first write; `None` where the job starts from the beginning.
    fn restore(&mut self, tables: Option<Vec<TableSnapshot>>) -> Result<()> {
        let _ = tables;
        Ok(())
    }
}

/// Makes the output of a job visible, checkpoint by checkpoint.
pub trait Committer: fmt::Debug + Send + Sync {
    /// Commits what the snapshots of a sink say. Called again with the same snapshots after a failure, so that
    /// what has been committed must not fail.
    fn commit(&self, snapshots: Vec<TableSnapshot>) -> BoxFuture<'_, Result<()>>;

    /// Removes what a job wrote and did not commit, before it starts again; it has been told to commit all that
    /// is in a checkpoint.
    fn clean<'a>(&'a self, job: &'a JobScope) -> BoxFuture<'a, Result<()>>;
}

/// The root of an INSERT: yields the number of rows written when the input has ended.
#[derive(Debug, Clone)]
pub struct SinkNode {
    table: Arc<TableDefinition>,
    connector: Arc<dyn Connector>,
    mode: ChangelogMode,
    schema: SchemaRef,
}

impl SinkNode {
    /// A sink into `table`, which takes rows of the kinds in `mode`.
    pub fn new(table: Arc<TableDefinition>, connector: Arc<dyn Connector>, mode: ChangelogMode) -> Self {
        let schema = Arc::new(Schema::new(vec![Field::new("count", DataType::UInt64, false)]));
        SinkNode { table, connector, mode, schema }
    }

    /// What commits the output, where it is committed with checkpoints.
    pub fn committer(&self) -> Option<Arc<dyn Committer>> {
        self.connector.committer(&self.table)
    }
}

impl StreamNode for SinkNode {
    fn name(&self) -> &'static str {
        "Sink"
    }

    fn identity(&self) -> String {
        format!("Sink[{}]", self.table.name)
    }

    fn required_distribution(&self, _input: usize) -> Distribution {
        self.connector.sink_distribution()
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table=[{}], connector=[{}]", self.table.name, self.connector.name())
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let refused = RowKind::ALL.into_iter().find(|kind| {
            // a sink that takes updates may do without their old content
            inputs[0].mode.contains(*kind) && !self.mode.contains(*kind) && *kind != RowKind::UpdateBefore
        });
        match refused {
            Some(kind) => plan_err!(
                "table {} takes only inserts, but the query gives {} rows (mode=[{}]); use a table whose connector and \
                 format take updates, such as 'format' = 'debezium-json'",
                self.table.name,
                kind.long(),
                inputs[0].mode
            ),
            None => Ok(StreamTraits::default()),
        }
    }

    fn required_upsert_key(&self, _input: usize) -> Option<Vec<usize>> {
        let key = self.table.primary_key.iter().map(|column| self.table.index_of(column).ok());
        key.collect::<Option<Vec<_>>>().filter(|key| !key.is_empty() && !self.connector.materializes())
    }

    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        self.mode.contains(RowKind::UpdateBefore)
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        let checkpoints = task.checkpoints();
        let mut sink = self.connector.sink(&self.table, &task)?;
        if task.environment().job.is_some() {
            sink.restore(checkpoints.as_ref().and_then(SubtaskCheckpoints::restored))?;
        }
        let writing = Writing {
            input: task.input(0)?,
            sink,
            drops_update_before: !self.mode.contains(RowKind::UpdateBefore),
            schema: Arc::clone(&self.schema),
            metrics: OperatorMetrics::new(task.metrics, task.partition),
            checkpoints,
            id: task.id.clone(),
            partition: task.partition,
            rows: 0,
            done: false,
        };
        let steps = futures::stream::unfold(writing, |mut writing| async move {
            let element = writing.step().await.transpose()?;
            writing.done |= element.is_err();
            Some((element, writing))
        });
        Ok(Box::pin(steps))
    }
}

struct Writing {
    input: ElementStream,
    sink: Box<dyn Sink>,
    drops_update_before: bool,
    schema: SchemaRef,
    metrics: OperatorMetrics,
    checkpoints: Option<SubtaskCheckpoints>,
    id: OperatorId,
    partition: usize,
    rows: u64,
    done: bool,
}

impl Writing {
    /// Writes until there is something to pass on: a barrier, the end, or the count.
    async fn step(&mut self) -> Result<Option<StreamElement>> {
        while !self.done {
            match self.input.next().await.transpose()? {
                Some(StreamElement::Data(changes)) => {
                    self.metrics.input_rows.add(changes.num_rows());
                    let changes = match self.drops_update_before {
                        true => changes.without_update_before()?,
                        false => changes,
                    };
                    let written = self.sink.write(&changes).await;
                    self.named(written)?;
                    self.metrics.baseline.record_output(changes.num_rows());
                    self.rows += changes.num_rows() as u64;
                }
                Some(StreamElement::Barrier(barrier)) => {
                    if let Some(checkpoints) = &self.checkpoints {
                        let snapshot = self.sink.snapshot().await;
                        checkpoints.acknowledge(barrier, self.named(snapshot)?);
                    }
                    return Ok(Some(StreamElement::Barrier(barrier)));
                }
                Some(StreamElement::Watermark(watermark)) => {
                    self.metrics.set_watermark(watermark);
                    return Ok(Some(StreamElement::Watermark(watermark)));
                }
                Some(other) => return Ok(Some(other)),
                None => {
                    self.done = true;
                    let finished = self.sink.finish().await;
                    self.named(finished)?;
                    if let Some(checkpoints) = &self.checkpoints {
                        let snapshot = self.sink.snapshot().await;
                        checkpoints.finish(self.named(snapshot)?);
                    }
                    let count: ArrayRef = Arc::new(UInt64Array::from(vec![self.rows]));
                    let batch = RecordBatch::try_new(Arc::clone(&self.schema), vec![count])?;
                    return Ok(Some(StreamElement::Data(ChangelogBatch::insert_only(batch))));
                }
            }
        }
        Ok(None)
    }

    fn named<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| in_operator(error, &self.id, self.partition))
    }
}
