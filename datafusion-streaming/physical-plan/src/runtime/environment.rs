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
}

impl Default for StreamEnvironment {
    fn default() -> Self {
        StreamEnvironment { clock: Arc::new(SystemClock), checkpoints: None }
    }
}

impl StreamEnvironment {
    /// The environment of a task.
    pub fn of(context: &TaskContext) -> Arc<StreamEnvironment> {
        context.session_config().get_extension::<StreamEnvironment>().unwrap_or_default()
    }
}
