//! Writing a checkpoint, beside the operators that go on.

use std::sync::Arc;

use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion_streaming_physical_plan::runtime::Checkpoint;
use datafusion_streaming_physical_plan::time::Clock;

use super::handle::{Reply, Shared};
use super::recovery::Sinks;
use crate::checkpoint::{CheckpointInfo, CheckpointKind, CheckpointStorage};

/// Where the checkpoints of an attempt go.
pub(super) struct Writer {
    pub job: Arc<Shared>,
    pub storage: Arc<CheckpointStorage>,
    pub sinks: Sinks,
    pub clock: Arc<dyn Clock>,
    pub retained: usize,
}

/// Why a checkpoint is taken, and who waits for it.
#[derive(Default)]
pub(super) struct Demand {
    pub replies: Vec<Reply>,
    pub savepoints: Vec<Savepoint>,
}

/// A savepoint that was asked for.
pub(super) struct Savepoint {
    pub storage: CheckpointStorage,
    pub stop: bool,
    pub reply: Reply,
}

impl Demand {
    pub(super) fn stops(&self) -> bool {
        self.savepoints.iter().any(|savepoint| savepoint.stop)
    }

    /// What was demanded of both.
    pub(super) fn and(mut self, other: Demand) -> Demand {
        self.replies.extend(other.replies);
        self.savepoints.extend(other.savepoints);
        self
    }
}

impl Writer {
    /// Writes a checkpoint, commits the output, removes older checkpoints, and copies it where a savepoint is to be.
    /// Whoever waits is told. An error where the checkpoint is not complete, or a savepoint to stop at.
    pub(super) async fn write(
        self: Arc<Self>,
        checkpoint: Checkpoint,
        kind: CheckpointKind,
        demand: Demand,
    ) -> Result<()> {
        let info = match self.complete(&checkpoint, kind).await {
            Ok(info) => info,
            Err(error) => {
                let message = error.strip_backtrace();
                let savepoints = demand.savepoints.into_iter().map(|savepoint| savepoint.reply);
                for reply in demand.replies.into_iter().chain(savepoints) {
                    let _ = reply.send(exec_err!("checkpoint {} failed: {message}", checkpoint.id));
                }
                return Err(error.context(format!("checkpoint {}", checkpoint.id)));
            }
        };
        self.job.completed(&info);
        for reply in demand.replies {
            let _ = reply.send(Ok(info.clone()));
        }
        let mut failed = None;
        for Savepoint { storage, stop, reply } in demand.savepoints {
            let now = self.clock.now();
            let written = storage.write(&checkpoint, &self.job.name, CheckpointKind::Savepoint, now).await;
            if let Err(error) = &written
                && stop
            {
                failed = Some(DataFusionError::Execution(format!("savepoint: {}", error.strip_backtrace())));
            }
            let _ = reply.send(written);
        }
        failed.map_or(Ok(()), Err)
    }

    async fn complete(&self, checkpoint: &Checkpoint, kind: CheckpointKind) -> Result<CheckpointInfo> {
        let info = self.storage.write(checkpoint, &self.job.name, kind, self.clock.now()).await?;
        self.sinks.commit(checkpoint).await?;
        self.storage.retain(self.retained).await?;
        Ok(info)
    }
}
