//! Sessions of datafusion-streaming.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::common::{Result, exec_datafusion_err, plan_datafusion_err};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion::prelude::SessionContext;
use datafusion_streaming::changelog::ChangelogBatch;
use datafusion_streaming::checkpoint::{CheckpointKind, CheckpointStorage};
use datafusion_streaming::config::{StateBackend, StreamingOptions};
use datafusion_streaming::runtime::{CheckpointCoordinator, StreamElement, StreamEnvironment};
use datafusion_streaming::{ChangelogDataFrame, FlinkSql};
use futures::{StreamExt, TryStreamExt};

use crate::{Answer, Determined, Engine, Mode, Session};

/// The key partitions of [`Mode::Parallel`].
const PARALLELISM: usize = 4;

/// Where there is this folder, which is in memory, [`Mode::Disk`] writes there: its many small files would wait for a
/// disk most of the time.
pub const MEMORY_FOLDER: &str = "/dev/shm";

/// The rows of a batch of [`Mode::Disk`].
const DISK_BATCH: &str = "4";

/// How many source rows lie between a restore and the next snapshot, in turn.
const ROWS_TO_SNAPSHOT: [u64; 3] = [1, 3, 7];

/// How often a query is restored; then it runs to its end.
const RESTORES: usize = 8;

type MakeContext = dyn Fn() -> Result<SessionContext> + Send + Sync;

/// Flink SQL in a DataFusion session with the extension.
#[derive(Clone)]
pub struct StreamingEngine {
    context: Arc<MakeContext>,
}

impl StreamingEngine {
    /// An engine whose sessions are those of `context`, for tables and functions of one's own. The
    /// extension must be installed in them.
    pub fn new(context: impl Fn() -> Result<SessionContext> + Send + Sync + 'static) -> Self {
        StreamingEngine { context: Arc::new(context) }
    }
}

impl Default for StreamingEngine {
    /// Sessions with nothing but the extension.
    fn default() -> Self {
        StreamingEngine::new(|| {
            let context = SessionContext::new();
            datafusion_streaming::install(&context)?;
            Ok(context)
        })
    }
}

impl fmt::Debug for StreamingEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamingEngine").finish_non_exhaustive()
    }
}

#[async_trait]
impl Engine for StreamingEngine {
    fn label(&self) -> &str {
        "datafusion-streaming"
    }

    async fn session(&self, directory: &Path, mode: Mode) -> Result<Box<dyn Session>> {
        let context = (self.context)()?;
        let base_dir = directory
            .to_str()
            .ok_or_else(|| exec_datafusion_err!("the folder {} is not UTF-8", directory.display()))?;
        {
            let state = context.state_ref();
            let mut state = state.write();
            let options = state.config_mut().options_mut();
            match mode {
                Mode::OneRow => options.set("datafusion.execution.batch_size", "1")?,
                Mode::Disk => options.set("datafusion.execution.batch_size", DISK_BATCH)?,
                Mode::Plain | Mode::Restore | Mode::Parallel => {}
            }
            let streaming = options.extensions.get_mut::<StreamingOptions>().ok_or_else(|| {
                plan_datafusion_err!("the streaming extension is not installed in this session")
            })?;
            streaming.base_dir = base_dir.to_string();
            streaming.parallelism = if mode == Mode::Parallel { PARALLELISM } else { 1 };
            if mode == Mode::Disk {
                streaming.state_backend = StateBackend::Disk;
                streaming.state_resident_bytes = Some(0);
                if Path::new(MEMORY_FOLDER).is_dir() {
                    streaming.state_local_dir = MEMORY_FOLDER.to_string();
                }
            }
        }
        Ok(Box::new(StreamingSession { context, mode, queries: 0 }))
    }
}

/// A session in which a file runs.
struct StreamingSession {
    context: SessionContext,
    mode: Mode,
    /// The number of queries so far: each begins at another of the distances to a snapshot.
    queries: usize,
}

#[async_trait]
impl Session for StreamingSession {
    async fn statement(&mut self, sql: &str) -> Result<()> {
        self.context.flink_sql(sql).await?.collect().await?;
        Ok(())
    }

    async fn query(&mut self, sql: &str) -> Result<Answer> {
        self.queries += 1;
        // A checkpoint, and state that goes to disk, ends the bundle of a mini-batch, and each partition has bundles of
        // its own
        let bundled = StreamingOptions::of(self.context.state().config_options()).mini_batch;
        if self.mode == Mode::Restore {
            let (changes, _restores) = restored_query(&self.context, sql, self.queries).await?;
            let determined = if bundled { Determined::Table } else { Determined::Changes };
            return Ok(Answer { changes, determined });
        }
        let stream = self.context.flink_sql(sql).await?.execute_changelog().await?;
        let root = Arc::clone(stream.plan());
        // What gathers the partitions at the root changes but the order
        let merges = root.children().into_iter().any(merges_partitions);
        let parted = bundled && matches!(self.mode, Mode::Parallel | Mode::Disk);
        let determined = if merges || parted { Determined::Table } else { Determined::Changes };
        Ok(Answer { changes: stream.try_collect().await?, determined })
    }
}

/// Whether there is an exchange in a plan that brings rows of several partitions together.
fn merges_partitions(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let inputs = plan.children();
    let is_exchange = plan.name() == "Exchange";
    is_exchange && inputs.iter().any(|input| input.output_partitioning().partition_count() > 1)
        || inputs.into_iter().any(merges_partitions)
}

/// A query that is dropped and restored on its way, and how often it was. Its checkpoints are written to the disk
/// and read from it.
///
/// Its output up to the first snapshot, that of the query restored from it up to the next one, and
/// so on. `first` chooses the distance to the first snapshot.
async fn restored_query(
    context: &SessionContext,
    sql: &str,
    first: usize,
) -> Result<(Vec<ChangelogBatch>, usize)> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().display().to_string();
    let storage = CheckpointStorage::open(&path, Some("query"), folder.path(), &context.runtime_env())?;
    let (mut changes, mut restored) = (vec![], None);
    for restores in 0.. {
        let distance = ROWS_TO_SNAPSHOT[(first + restores) % ROWS_TO_SNAPSHOT.len()];
        let every_rows = (restores < RESTORES).then_some(distance);
        let checkpoints = Arc::new(CheckpointCoordinator::new(restored, every_rows));
        let environment =
            StreamEnvironment { checkpoints: Some(Arc::clone(&checkpoints)), ..StreamEnvironment::default() };
        let query = context.flink_sql(sql).await?;
        let mut elements = query.execute_changelog_with(environment).await?.into_elements();
        restored = loop {
            match elements.next().await.transpose()? {
                None => return Ok((changes, restores)),
                Some(StreamElement::Data(batch)) => changes.push(batch),
                Some(StreamElement::Barrier(barrier)) => {
                    let checkpoint = checkpoints.complete(barrier).ok_or_else(|| {
                        exec_datafusion_err!("barrier {barrier} came out, but no snapshot was taken")
                    })?;
                    storage.write(&checkpoint, "query", CheckpointKind::Checkpoint, 0).await?;
                    storage.retain(1).await?;
                    break Some(storage.read(barrier).await?);
                }
                Some(StreamElement::Watermark(_) | StreamElement::Idle) => {}
            }
        };
    }
    Ok((changes, 0))
}

#[cfg(test)]
mod tests;
