//! The life of a job: attempts, until it is done.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use datafusion::common::{DataFusionError, exec_err};
use futures::FutureExt;
use tokio::sync::mpsc::UnboundedReceiver;

use super::handle::{Command, Shared};
use super::restart::Restarts;
use super::{Job, JobBuilder, JobStatus};
use crate::checkpoint::CheckpointStorage;

/// Runs a job to its end.
pub(super) struct Runner {
    pub(super) job: Arc<Shared>,
    pub(super) plan: JobBuilder,
    pub(super) storage: Arc<CheckpointStorage>,
    pub(super) commands: UnboundedReceiver<Command>,
    restarts: Restarts,
    /// Whether an attempt has got as far as running.
    pub(super) has_run: bool,
    /// The last checkpoint of earlier runs, where this one is not to go on from it.
    pub(super) earlier_id: u64,
}

impl Runner {
    pub(super) fn new(
        job: &Job,
        plan: JobBuilder,
        storage: CheckpointStorage,
        commands: UnboundedReceiver<Command>,
    ) -> Self {
        Runner {
            job: Arc::clone(job.shared()),
            restarts: Restarts::new(&plan.options),
            plan,
            storage: Arc::new(storage),
            commands,
            has_run: false,
            earlier_id: 0,
        }
    }

    /// Runs the job; its status tells how it ended.
    pub(super) async fn run(mut self) {
        let job = Arc::clone(&self.job);
        let ended = AssertUnwindSafe(self.attempts()).catch_unwind().await;
        drop(self);
        let status = ended.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            job.failed(DataFusionError::Internal(format!("job '{}' panicked: {text}", job.name)));
            JobStatus::Failed
        });
        job.set_status(status);
    }

    async fn attempts(&mut self) -> JobStatus {
        loop {
            let error = match self.attempt().await {
                Ok(status) => return status,
                Err(error) => error,
            };
            let named = error.context(format!("job '{}'", self.job.name));
            self.job.failed(named);
            // what could not even start will not start the next time
            if !self.has_run {
                return JobStatus::Failed;
            }
            let now = self.job.clock.now();
            let Some(delay) = self.restarts.delay_after_failure(now) else { return JobStatus::Failed };
            self.job.restarts();
            if self.is_cancelled_within(now.saturating_add(delay)).await {
                return JobStatus::Canceled;
            }
        }
    }

    /// Waits for the next attempt.
    async fn is_cancelled_within(&mut self, deadline: i64) -> bool {
        let mut wake = self.job.clock.sleep_until(deadline);
        loop {
            let command = tokio::select! {
                () = &mut wake => return false,
                command = self.commands.recv() => command,
            };
            match command {
                Some(Command::Cancel) => return true,
                Some(Command::Checkpoint(reply) | Command::Savepoint { reply, .. }) => {
                    let _ = reply
                        .send(exec_err!("job '{}' has failed and is about to start again", self.job.name));
                }
                None => {
                    wake.as_mut().await;
                    return false;
                }
            }
        }
    }
}
