//! What the tasks of a query share: the clock and the checkpoints.

use std::sync::Arc;

use datafusion_execution::TaskContext;

use super::CheckpointCoordinator;
use crate::time::{Clock, SystemClock};

/// The surroundings of a running query, an extension of DataFusion's `SessionConfig`
/// (`with_extension`). A session without one runs on the machine's clock, without checkpoints.
#[derive(Debug, Clone)]
pub struct StreamEnvironment {
    /// Processing time.
    pub clock: Arc<dyn Clock>,
    /// Takes the operators' snapshots and hands out what to restore; `None`: no checkpoints.
    pub checkpoints: Option<Arc<CheckpointCoordinator>>,
    /// The job that the query is; `None` for one that is only read. The output of a job appears with
    /// its checkpoints.
    pub job: Option<JobScope>,
}

/// The names by which sinks know whose their unfinished output is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobScope {
    /// The job's, the same whenever it is started again: letters, digits, `-` and `_`.
    pub id: String,
    /// Another one each time that the job starts: letters and digits.
    pub attempt: String,
}

impl Default for StreamEnvironment {
    fn default() -> Self {
        StreamEnvironment { clock: Arc::new(SystemClock), checkpoints: None, job: None }
    }
}

impl StreamEnvironment {
    /// The environment of a task.
    pub fn of(context: &TaskContext) -> Arc<StreamEnvironment> {
        context.session_config().get_extension::<StreamEnvironment>().unwrap_or_default()
    }
}
