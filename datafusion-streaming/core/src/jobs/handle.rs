//! The handle of a job.

use std::fmt;
use std::sync::Arc;

use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::time::Clock;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};

use super::JobMetrics;
use crate::checkpoint::CheckpointInfo;

/// A job that has been started. Clones are handles of the same job; a job goes on when they are dropped.
#[derive(Clone)]
pub struct Job {
    shared: Arc<Shared>,
}

/// Where a job is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobStatus {
    /// It has not begun to run.
    Created,
    /// It runs.
    Running,
    /// It has failed, and waits to be started again.
    Restarting,
    /// Its input has ended, and all output is there.
    Finished,
    /// It was stopped with a savepoint.
    Stopped,
    /// It was cancelled.
    Canceled,
    /// It has failed for good.
    Failed,
}

impl JobStatus {
    /// Whether the job will not run any more.
    pub fn is_final(self) -> bool {
        matches!(self, JobStatus::Finished | JobStatus::Stopped | JobStatus::Canceled | JobStatus::Failed)
    }
}

impl fmt::Display for JobStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JobStatus::Created => "CREATED",
            JobStatus::Running => "RUNNING",
            JobStatus::Restarting => "RESTARTING",
            JobStatus::Finished => "FINISHED",
            JobStatus::Stopped => "STOPPED",
            JobStatus::Canceled => "CANCELED",
            JobStatus::Failed => "FAILED",
        })
    }
}

/// What the handles and the runner of a job share.
pub(super) struct Shared {
    pub(super) name: String,
    pub(super) id: String,
    pub(super) clock: Arc<dyn Clock>,
    status: watch::Sender<JobStatus>,
    commands: mpsc::UnboundedSender<Command>,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    plan: Option<Arc<dyn ExecutionPlan>>,
    last_checkpoint: Option<CheckpointInfo>,
    checkpoints: u64,
    restarts: u64,
    /// Of the last failure, whether or not the job was started again.
    error: Option<Arc<DataFusionError>>,
}

/// The answer to a command: a checkpoint.
pub(super) type Reply = oneshot::Sender<Result<CheckpointInfo>>;

/// What a handle asks of the runner.
pub(super) enum Command {
    /// Take a checkpoint.
    Checkpoint(Reply),
    /// Take a checkpoint and copy it to a folder; then stop or go on.
    Savepoint { dir: Option<String>, stop: bool, reply: Reply },
    /// Stop now.
    Cancel,
}

impl Job {
    pub(super) fn new(
        name: String,
        id: String,
        clock: Arc<dyn Clock>,
    ) -> (Job, mpsc::UnboundedReceiver<Command>) {
        let (commands, receiver) = mpsc::unbounded_channel();
        let status = watch::Sender::new(JobStatus::Created);
        let shared = Shared { name, id, clock, status, commands, progress: Mutex::default() };
        (Job { shared: Arc::new(shared) }, receiver)
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The job's name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The name as it stands in folders and file names.
    pub fn id(&self) -> &str {
        &self.shared.id
    }

    /// Where the job is in its life.
    pub fn status(&self) -> JobStatus {
        *self.shared.status.borrow()
    }

    /// What the job has done so far.
    pub fn metrics(&self) -> JobMetrics {
        let progress = self.shared.progress.lock();
        let mut metrics = progress.plan.as_ref().map(JobMetrics::of_plan).unwrap_or_default();
        let now = self.shared.clock.now();
        let in_time = metrics.watermark.filter(|watermark| *watermark < i64::MAX);
        metrics.watermark_lag = in_time.map(|watermark| now.saturating_sub(watermark));
        metrics.checkpoint_age = progress.last_checkpoint.as_ref().map(|last| now.saturating_sub(last.time));
        metrics.last_checkpoint = progress.last_checkpoint.clone();
        metrics.checkpoints = progress.checkpoints;
        metrics.restarts = progress.restarts;
        metrics
    }

    /// The error that the job failed with last, even if it has been started again since.
    pub fn last_error(&self) -> Option<Arc<DataFusionError>> {
        self.shared.progress.lock().error.clone()
    }

    /// Takes a checkpoint and waits until it is complete and its output committed.
    pub async fn checkpoint(&self) -> Result<CheckpointInfo> {
        self.ask(Command::Checkpoint).await
    }

    /// Takes a savepoint: a checkpoint that stands for itself in a folder below `dir`, or below the option
    /// `execution.checkpointing.savepoint-dir`, and is kept until somebody removes it.
    pub async fn savepoint(&self, dir: Option<&str>) -> Result<CheckpointInfo> {
        let dir = dir.map(str::to_string);
        self.ask(|reply| Command::Savepoint { dir, stop: false, reply }).await
    }

    /// Takes a savepoint and stops the job at it: nothing that came behind it is written.
    pub async fn stop_with_savepoint(&self, dir: Option<&str>) -> Result<CheckpointInfo> {
        let dir = dir.map(str::to_string);
        self.ask(|reply| Command::Savepoint { dir, stop: true, reply }).await
    }

    /// Stops the job where it is, and waits until it has. What came behind the last checkpoint is not committed.
    pub async fn cancel(&self) {
        let _ = self.shared.commands.send(Command::Cancel);
        self.ended().await;
    }

    /// Waits until the job has ended, and returns how; the error if it has failed.
    pub async fn wait(&self) -> Result<JobStatus> {
        let status = self.ended().await;
        let error = self.shared.progress.lock().error.clone();
        match (status, error) {
            (JobStatus::Failed, Some(error)) => Err(DataFusionError::Shared(error)),
            _ => Ok(status),
        }
    }

    async fn ended(&self) -> JobStatus {
        let mut status = self.shared.status.subscribe();
        let ended = status.wait_for(|status| status.is_final()).await.map(|status| *status);
        ended.unwrap_or(JobStatus::Failed)
    }

    async fn ask(&self, command: impl FnOnce(Reply) -> Command) -> Result<CheckpointInfo> {
        let (reply, answer) = oneshot::channel();
        let gone = || exec_datafusion_err!("job '{}' is not running: it is {}", self.name(), self.status());
        self.shared.commands.send(command(reply)).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("name", &self.name())
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

impl Shared {
    pub(super) fn set_status(&self, status: JobStatus) {
        self.status.send_replace(status);
    }

    /// An attempt runs this plan.
    pub(super) fn runs(&self, plan: &Arc<dyn ExecutionPlan>) {
        self.progress.lock().plan = Some(Arc::clone(plan));
        self.set_status(JobStatus::Running);
    }

    pub(super) fn completed(&self, checkpoint: &CheckpointInfo) {
        let mut progress = self.progress.lock();
        progress.last_checkpoint = Some(checkpoint.clone());
        progress.checkpoints += 1;
    }

    pub(super) fn failed(&self, error: DataFusionError) {
        self.progress.lock().error = Some(Arc::new(error));
    }

    pub(super) fn restarts(&self) {
        self.progress.lock().restarts += 1;
        self.set_status(JobStatus::Restarting);
    }
}
