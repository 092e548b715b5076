//! Sources: where elements come from.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BinaryArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion_common::{Result, exec_err, internal_err};
use datafusion_execution::SendableRecordBatchStream;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use tokio::sync::watch;

use super::{
    BarrierId, CheckpointCoordinator, ElementStream, OperatorId, OperatorMetrics, StreamElement,
    SubtaskSnapshot, TableSnapshot, in_operator,
};
use crate::changelog::ChangelogBatch;
use crate::time::Watermark;

/// Reads a source that can tell where it is and go back there.
pub trait SourceReader: Send {
    /// The next rows, watermark or idleness; `None` at the end. Waits for as long as there is
    /// nothing. Must be safe to cancel: a future that is dropped before it is ready has lost
    /// nothing. Barriers are not the reader's business.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<StreamElement>>>;

    /// Where the reader is after what [`SourceReader::next`] returned last, in a form of its own.
    fn position(&self) -> Vec<u8>;

    /// Goes to a position; called before the first [`SourceReader::next`].
    fn restore(&mut self, position: &[u8]) -> Result<()>;

    /// How many records and fields could not be read and were passed over, since the reader started.
    fn parse_errors(&self) -> usize {
        0
    }
}

/// The stream of a source: cuts rows at the batch size and puts barriers between them when a
/// checkpoint is asked for.
pub struct SourceStream {
    reader: Box<dyn SourceReader>,
    id: OperatorId,
    subtask: usize,
    batch_size: usize,
    checkpoints: Option<Arc<CheckpointCoordinator>>,
    requests: Option<watch::Receiver<BarrierId>>,
    metrics: OperatorMetrics,
    /// Rows of the batch read last that have not been emitted, from this row on.
    rest: Option<(ChangelogBatch, usize)>,
    /// Where the reader was before that batch.
    rest_position: Vec<u8>,
    /// Rows to pass over, since a checkpoint was taken in the middle of a batch.
    skip: usize,
    state: SourceState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SourceState {
    Reading,
    /// The last barrier that was asked for has been sent: nothing follows, the end included.
    Stopped,
    Ended,
    Done,
}

impl SourceStream {
    /// Starts a source, where a checkpoint left it if there is one. `subtask` is its number and how many there are.
    pub(super) fn start(
        reader: Box<dyn SourceReader>,
        id: OperatorId,
        subtask: (usize, usize),
        batch_size: usize,
        checkpoints: Option<Arc<CheckpointCoordinator>>,
        metrics: OperatorMetrics,
    ) -> Result<ElementStream> {
        let (subtask, subtasks) = subtask;
        let mut source = SourceStream {
            reader,
            id,
            subtask,
            batch_size: batch_size.max(1),
            requests: checkpoints.as_ref().map(|checkpoints| checkpoints.requests()),
            checkpoints,
            metrics,
            rest: None,
            rest_position: vec![],
            skip: 0,
            state: SourceState::Reading,
        };
        source.restore(subtasks)?;
        if source.checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.input_has_ended()) {
            source.state = SourceState::Ended;
        }
        let steps = futures::stream::unfold(source, |mut source| async move {
            let element = source.step().await.transpose()?;
            let element = element.map_err(|error| {
                source.state = SourceState::Done;
                in_operator(error, &source.id, source.subtask)
            });
            Some((element, source))
        });
        Ok(Box::pin(steps))
    }

    async fn step(&mut self) -> Result<Option<StreamElement>> {
        tokio::task::coop::consume_budget().await;
        loop {
            if let Some(barrier) = self.requested_barrier() {
                self.acknowledge(barrier)?;
                if self.checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.is_last(barrier)) {
                    self.state = SourceState::Stopped;
                    self.rest = None;
                }
                return Ok(Some(StreamElement::Barrier(barrier)));
            }
            if let Some(rows) = self.next_slice() {
                self.metrics.baseline.record_output(rows.num_rows());
                if let Some(checkpoints) = &self.checkpoints {
                    checkpoints.emitted(rows.num_rows());
                }
                return Ok(Some(StreamElement::Data(rows)));
            }
            match self.state {
                SourceState::Stopped => return futures::future::pending().await,
                SourceState::Done => return Ok(None),
                SourceState::Ended => {
                    self.state = SourceState::Done;
                    if let Some(checkpoints) = &self.checkpoints {
                        checkpoints.finish(&self.id, self.subtask, self.snapshot()?);
                    }
                    return Ok(Some(StreamElement::Watermark(Watermark::MAX)));
                }
                SourceState::Reading => {}
            }
            if self.checkpoints.is_some() {
                self.rest_position = self.reader.position();
            }
            let element = match &mut self.requests {
                None => self.reader.next().await?,
                Some(requests) => tokio::select! {
                    biased;
                    changed = requests.changed() => {
                        match changed {
                            // the request must still be seen by `requested_barrier`
                            Ok(()) => requests.mark_changed(),
                            Err(_) => self.requests = None,
                        }
                        continue;
                    }
                    element = self.reader.next() => element?,
                },
            };
            self.metrics.parse_errors.set(self.reader.parse_errors());
            match element {
                Some(StreamElement::Data(rows)) => self.rest = Some((rows, 0)),
                Some(StreamElement::Barrier(_)) => return internal_err!("a source reader sent a barrier"),
                Some(other) => return Ok(Some(other)),
                None => self.state = SourceState::Ended,
            }
        }
    }

    /// The checkpoint that was asked for since the last barrier.
    fn requested_barrier(&mut self) -> Option<BarrierId> {
        let requests = self.requests.as_mut()?;
        let changed = requests.has_changed().unwrap_or(false);
        changed.then(|| *requests.borrow_and_update())
    }

    /// The next rows of the batch that was read last.
    fn next_slice(&mut self) -> Option<ChangelogBatch> {
        let (rows, from) = self.rest.as_mut()?;
        let passed = self.skip.min(rows.num_rows() - *from);
        self.skip -= passed;
        *from += passed;
        let limit = self.checkpoints.as_ref().and_then(|checkpoints| checkpoints.row_limit());
        let len = (rows.num_rows() - *from).min(self.batch_size).min(limit.unwrap_or(usize::MAX));
        let slice = rows.slice(*from, len);
        *from += len;
        if *from == rows.num_rows() {
            self.rest = None;
        }
        (len > 0).then_some(slice)
    }

    fn acknowledge(&self, barrier: BarrierId) -> Result<()> {
        match &self.checkpoints {
            Some(checkpoints) => {
                checkpoints.acknowledge(barrier, &self.id, self.subtask, self.snapshot()?);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn snapshot(&self) -> Result<SubtaskSnapshot> {
        let (position, skip) = match &self.rest {
            Some((_, from)) => (self.rest_position.clone(), *from),
            None => (self.reader.position(), self.skip),
        };
        let fields = vec![
            Field::new("position", DataType::Binary, false),
            Field::new("skip_rows", DataType::Int64, false),
        ];
        let columns: Vec<ArrayRef> = vec![
            Arc::new(BinaryArray::from_vec(vec![&position])),
            Arc::new(Int64Array::from(vec![i64::try_from(skip).unwrap_or(i64::MAX)])),
        ];
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        let table = TableSnapshot { name: SOURCE_TABLE.to_string(), keyed: false, rows };
        Ok(SubtaskSnapshot::of_tables(vec![table]))
    }

    fn restore(&mut self, subtasks: usize) -> Result<()> {
        let Some(checkpoints) = &self.checkpoints else { return Ok(()) };
        let Some(checkpoint) = checkpoints.restored() else { return Ok(()) };
        let Some(snapshots) = checkpoint.operators.get(&self.id) else { return Ok(()) };
        let saved = snapshots.get(&self.subtask).and_then(|snapshot| snapshot.tables.first());
        let rows = saved.map(|table| &table.rows).filter(|rows| rows.num_rows() == 1);
        let Some(rows) = rows.filter(|_| snapshots.len() == subtasks) else {
            return exec_err!(
                "the checkpoint has positions of {} partitions of {}, which now has {subtasks}; restore it with a \
                 table that is read in as many partitions",
                snapshots.len(),
                self.id
            );
        };
        self.reader.restore(rows.column(0).as_binary::<i32>().value(0))?;
        self.skip = usize::try_from(rows.column(1).as_primitive::<Int64Type>().value(0)).unwrap_or(0);
        Ok(())
    }
}

const SOURCE_TABLE: &str = "source";

/// Reads a DataFusion plan that is not streaming: its rows are inserts. Its position is a count of
/// rows, so that it can be restored where the plan yields the same rows again.
pub struct NativeReader {
    batches: SendableRecordBatchStream,
    /// Rows read, those that were passed over included.
    rows: u64,
    /// Rows still to be passed over.
    skip: u64,
    /// The position that the reader was restored to, which is its own until it has read further.
    restored: u64,
}

impl NativeReader {
    /// Reads a partition of a plan.
    pub fn new(batches: SendableRecordBatchStream) -> Self {
        NativeReader { batches, rows: 0, skip: 0, restored: 0 }
    }
}

impl SourceReader for NativeReader {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<StreamElement>>> {
        async move {
            while let Some(batch) = self.batches.next().await.transpose()? {
                let passed = self.skip.min(batch.num_rows() as u64);
                self.skip -= passed;
                self.rows += batch.num_rows() as u64;
                let passed = usize::try_from(passed).unwrap_or(usize::MAX);
                if passed < batch.num_rows() {
                    let rows = batch.slice(passed, batch.num_rows() - passed);
                    return Ok(Some(StreamElement::Data(ChangelogBatch::insert_only(rows))));
                }
            }
            Ok(None)
        }
        .boxed()
    }

    fn position(&self) -> Vec<u8> {
        self.rows.max(self.restored).to_le_bytes().to_vec()
    }

    fn restore(&mut self, position: &[u8]) -> Result<()> {
        let Ok(bytes) = position.try_into() else {
            return internal_err!("the position of a table is a count of rows, not {position:?}");
        };
        self.skip = u64::from_le_bytes(bytes);
        self.restored = self.skip;
        Ok(())
    }
}

/// The elements of a plan that is not streaming.
pub(super) fn native_elements(batches: SendableRecordBatchStream) -> ElementStream {
    let data = batches.map(|batch| Ok(StreamElement::Data(ChangelogBatch::insert_only(batch?))));
    Box::pin(data.chain(futures::stream::iter([Ok(StreamElement::Watermark(Watermark::MAX))])))
}
