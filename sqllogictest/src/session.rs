//! What is tested.

use std::path::Path;

use async_trait::async_trait;
use datafusion::common::Result;
use datafusion_streaming::changelog::ChangelogBatch;

use crate::Mode;

/// Makes the sessions that files run in.
#[async_trait]
pub trait Engine: Send + Sync {
    /// The name under which the conditions `onlyif` and `skipif` know this engine.
    fn label(&self) -> &str;

    /// A fresh session for one file. Relative paths in its statements start from `directory`.
    async fn session(&self, directory: &Path, mode: Mode) -> Result<Box<dyn Session>>;
}

/// A session that a file runs in.
#[async_trait]
pub trait Session: Send {
    /// Runs a statement: DDL, or `SET`. An error where the engine refuses it.
    async fn statement(&mut self, sql: &str) -> Result<()>;

    /// Runs a query to the end of its input, in the mode that the session was made for.
    ///
    /// An error where the engine refuses the query or fails while it runs.
    async fn query(&mut self, sql: &str) -> Result<Vec<ChangelogBatch>>;
}
