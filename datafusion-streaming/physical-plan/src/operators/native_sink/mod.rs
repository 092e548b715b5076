//! INSERT into a table that is not streaming.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use arrow::datatypes::SchemaRef;
use datafusion_common::{DataFusionError, Result, internal_err, plan_err};
use datafusion_common_runtime::SpawnedTask;
use datafusion_datasource::sink::DataSinkExec;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use tokio::sync::mpsc::{Sender, channel};

use crate::changelog::ChangelogBatch;
use crate::runtime::{
    Distribution, ElementStream, OperatorId, OperatorMetrics, StreamElement, StreamNode, StreamTask,
    StreamTraits, SubtaskCheckpoints, in_operator,
};

/// How many batches wait for the table before the query does.
const CHANNEL_CAPACITY: usize = 4;

/// DataFusion's sink of a table in a streaming plan. All rows are one write, as in DataFusion; where
/// checkpoints are taken, those between two barriers are: when a checkpoint is complete, the rows up
/// to it have been written. Rows behind the last checkpoint are written again after a failure: at
/// least once.
#[derive(Debug, Clone)]
pub struct NativeSinkNode {
    /// The DataSinkExec, for its sink.
    sink: Arc<dyn ExecutionPlan>,
}

impl NativeSinkNode {
    /// The node for a DataSinkExec; `None` for another plan, and for one that needs its rows in an
    /// order.
    pub fn try_new(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let sink = plan.downcast_ref::<DataSinkExec>()?;
        sink.sort_order().is_none().then(|| NativeSinkNode { sink: Arc::clone(plan) })
    }
}

impl StreamNode for NativeSinkNode {
    fn name(&self) -> &'static str {
        "TableSink"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sink.downcast_ref::<DataSinkExec>() {
            Some(sink) => sink.sink().fmt_as(datafusion_physical_plan::DisplayFormatType::Default, f),
            None => Ok(()),
        }
    }

    fn schema(&self) -> SchemaRef {
        self.sink.schema()
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        match inputs[0].mode.is_insert_only() {
            true => Ok(StreamTraits::default()),
            false => plan_err!(
                "{} takes only inserts, but the query gives updates or deletes (mode=[{}]); insert into a table \
                 that takes updates, or read TO_CHANGELOG(...) of the query",
                self.sink.name(),
                inputs[0].mode
            ),
        }
    }

    fn required_distribution(&self, _input: usize) -> Distribution {
        Distribution::Single
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        let writing = Writing {
            input: task.input(0)?,
            input_schema: task.inputs[0].schema(),
            sink: Arc::clone(&self.sink),
            context: Arc::clone(&task.context),
            metrics: OperatorMetrics::new(task.metrics, task.partition),
            checkpoints: task.checkpoints(),
            id: task.id.clone(),
            partition: task.partition,
            write: None,
            rows: None,
            done: false,
        };
        Ok(Box::pin(futures::stream::unfold(writing, |mut writing| async move {
            let element = writing.step().await.transpose()?;
            writing.done |= element.is_err();
            Some((element, writing))
        })))
    }
}

struct Writing {
    input: ElementStream,
    input_schema: SchemaRef,
    sink: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
    metrics: OperatorMetrics,
    checkpoints: Option<SubtaskCheckpoints>,
    id: OperatorId,
    partition: usize,
    write: Option<Write>,
    /// Rows of the writes that are complete; `None` before the first.
    rows: Option<u64>,
    done: bool,
}

/// A call of the table's sink that is under way.
struct Write {
    batches: Sender<Result<RecordBatch>>,
    task: SpawnedTask<Result<u64>>,
}

impl Writing {
    async fn step(&mut self) -> Result<Option<StreamElement>> {
        while !self.done {
            match self.input.next().await.transpose()? {
                Some(StreamElement::Data(changes)) => {
                    self.metrics.input_rows.add(changes.num_rows());
                    let (batch, kinds) = changes.into_parts();
                    if kinds.is_some() {
                        return internal_err!(
                            "updates were about to be written into a table that takes inserts"
                        );
                    }
                    let written = self.send(batch).await;
                    self.named(written)?;
                }
                Some(StreamElement::Barrier(barrier)) => {
                    let written = self.complete().await;
                    self.named(written)?;
                    if let Some(checkpoints) = &self.checkpoints {
                        checkpoints.acknowledge(barrier, vec![]);
                    }
                    return Ok(Some(StreamElement::Barrier(barrier)));
                }
                Some(StreamElement::Watermark(watermark)) => {
                    self.metrics.set_watermark(watermark);
                    return Ok(Some(StreamElement::Watermark(watermark)));
                }
                Some(StreamElement::Idle) => return Ok(Some(StreamElement::Idle)),
                None => {
                    self.done = true;
                    if self.rows.is_none() && self.write.is_none() {
                        // a table may want to know of an INSERT without rows
                        self.write = Some(self.begin());
                    }
                    let written = self.complete().await;
                    self.named(written)?;
                    if let Some(checkpoints) = &self.checkpoints {
                        checkpoints.finish(vec![]);
                    }
                    let count: ArrayRef = Arc::new(UInt64Array::from(vec![self.rows.unwrap_or(0)]));
                    let batch = RecordBatch::try_new(self.sink.schema(), vec![count])?;
                    return Ok(Some(StreamElement::Data(ChangelogBatch::insert_only(batch))));
                }
            }
        }
        Ok(None)
    }

    fn begin(&self) -> Write {
        let (batches, mut receiver) = channel(CHANNEL_CAPACITY);
        let stream = futures::stream::poll_fn(move |cx| receiver.poll_recv(cx));
        let stream = Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.input_schema), stream));
        let (sink, context) = (Arc::clone(&self.sink), Arc::clone(&self.context));
        let task = SpawnedTask::spawn(async move {
            match sink.downcast_ref::<DataSinkExec>() {
                Some(sink) => sink.sink().write_all(stream, &context).await,
                None => internal_err!("{} is no sink", sink.name()),
            }
        });
        Write { batches, task }
    }

    async fn send(&mut self, batch: RecordBatch) -> Result<()> {
        let write = match self.write.take() {
            Some(write) => write,
            None => self.begin(),
        };
        let is_open = write.batches.send(Ok(batch)).await.is_ok();
        self.write = Some(write);
        match is_open {
            true => Ok(()),
            // the sink has given up: its error tells why
            false => self.complete().await,
        }
    }

    /// Ends the write that is under way: its rows are in the table.
    async fn complete(&mut self) -> Result<()> {
        let Some(Write { batches, task }) = self.write.take() else { return Ok(()) };
        drop(batches);
        let rows = task.join().await.map_err(|error| DataFusionError::External(Box::new(error)))??;
        self.metrics.baseline.record_output(usize::try_from(rows).unwrap_or(usize::MAX));
        self.rows = Some(self.rows.unwrap_or(0) + rows);
        Ok(())
    }

    fn named<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| in_operator(error, &self.id, self.partition))
    }
}
