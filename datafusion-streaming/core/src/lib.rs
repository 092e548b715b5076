//! Flink's streaming SQL as a plugin for Apache DataFusion.
//!
//! Install it into a `SessionContext`; queries over tables that are unbounded or change then run as
//! continuous queries, and [`FlinkSql::flink_sql`] takes Flink's own SQL:
//!
//! ```
//! use datafusion::prelude::SessionContext;
//! use datafusion_streaming::{ChangelogDataFrame, FlinkSql};
//! use futures::StreamExt;
//!
//! # #[tokio::main]
//! # async fn main() -> datafusion::common::Result<()> {
//! let ctx = SessionContext::new();
//! datafusion_streaming::install(&ctx)?;
//! let query = ctx.flink_sql("SELECT k, COUNT(*) AS n FROM (VALUES ('a'), ('b'), ('a')) AS t (k) GROUP BY k").await?;
//! let mut changelog = query.execute_changelog().await?;
//! while let Some(changes) = changelog.next().await {
//!     print!("{}", datafusion_streaming::changelog::pretty::changelog_lines([&changes?])?.join("\n"));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | module | subject |
//! |---|---|
//! | [`sql`] | Flink SQL as text: dialect, statements, types |
//! | [`planner`] | table functions in FROM and the nodes they become |
//! | [`tables`] | tables made by CREATE TABLE, and one to push changes into |
//! | [`aggregate`] | aggregate functions of the user's |
//! | [`formats`], [`filesystem`] | files as changelogs |
//! | [`jobs`] | queries to leave running: checkpoints, restarts, savepoints |
//! | [`checkpoint`] | checkpoints on durable storage |
//! | [`timestamps`] | how TIMESTAMP and TIMESTAMP_LTZ are held, and how to read them |
//!
//! The cargo feature `parquet` adds the format of that name to [`formats`].

pub mod checkpoint;
pub mod filesystem;
pub mod formats;
pub mod jobs;
pub mod planner;
mod session;
pub mod sql;
pub mod tables;

/// Aggregate functions of the user's in streams.
pub mod aggregate {
    pub use datafusion_streaming_physical_plan::operators::aggregate::RetractableUdaf;
    pub use datafusion_streaming_udfs::aggregate::{
        AggregateArgs, AggregateState, Fate, FlinkAggregateUdf, Fold, OutputLayout, Rows, StreamingAggregate,
    };
}

pub use datafusion_streaming_physical_plan::{changelog, config, runtime, time};
pub use datafusion_streaming_udfs::timestamps;
pub use jobs::{FlinkJobs, Job, JobBuilder};
pub use session::{
    ChangelogDataFrame, ChangelogStream, FlinkScript, FlinkSql, StreamingSessionStateBuilder, install,
    install_with,
};

/// The embedding example of the README, compiled and run with the doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
