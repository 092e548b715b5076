//! Jobs: queries to leave running.
//!
//! ```text
//!   FlinkJobs::flink_job(sql)   INSERT INTO …, or EXECUTE STATEMENT SET BEGIN … END
//!     JobBuilder                name, storage, where to start
//!       Job                     the handle: status, metrics, checkpoint, savepoint, stop, cancel, wait
//!         Runner                attempts, until the job is done or the restart strategy gives up
//!           Attempt             plan, restore, run; a checkpoint on each tick and demand
//! ```
//!
//! A checkpoint is taken in four steps. The sources put a barrier into their streams; every operator copies its
//! state when the barrier passes, and goes on; when the barrier has come out of the root, the state is written by a
//! task of its own, the manifest last; then the sinks' output is committed.
//!
//! What a job writes is seen **exactly once** in tables with `'connector' = 'filesystem'` (files appear with the
//! checkpoint that they belong to) and `'materialized'` (which goes back to the checkpoint). It is **at least once**
//! in `print`, and in any table of DataFusion's that is no streaming table: its rows up to a checkpoint have been
//! written when the checkpoint is complete, and those behind it are written again after a failure.
//!
//! Checkpoints survive the process, however it ends; they are written without forcing them to the disk, so that a
//! local folder need not survive the loss of power.

mod attempt;
mod builder;
mod handle;
mod metrics;
mod recovery;
mod registry;
mod restart;
mod runner;
mod writing;

pub use builder::{FlinkJobs, JobBuilder, StartFrom};
pub use handle::{Job, JobStatus};
pub use metrics::{JobMetrics, OperatorProgress};
pub use registry::JobRegistry;
