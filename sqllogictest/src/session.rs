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
    async fn query(&mut self, sql: &str) -> Result<Answer>;
}

/// What a query answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Its changelog, to the end.
    pub changes: Vec<ChangelogBatch>,
    /// How much of it must be as it was elsewhere.
    pub determined: Determined,
}

/// How much of the changelog of a query follows from its input, in the mode at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Determined {
    /// Every change, if not their order across keys.
    Changes,
    /// The table at the end: on their way, rows of one key came together from several partitions,
    /// and so may the aggregates of what arrived so far differ from run to run; or bundles of rows were
    /// cut elsewhere.
    Table,
}
