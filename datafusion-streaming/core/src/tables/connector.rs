//! Connectors: where the rows of a table come from and go to.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::{Result, plan_err};
use datafusion::execution::SessionState;
use datafusion_streaming_physical_plan::changelog::ChangelogMode;
use datafusion_streaming_physical_plan::config::StreamingOptions;
use datafusion_streaming_physical_plan::runtime::{Distribution, StreamNode, StreamTask};

use super::TableDefinition;
use super::blackhole::Blackhole;
use super::filesystem::Filesystem;
use super::materialized::Materialized;
use super::print::Print;
use super::sink::{Committer, Sink};
use crate::formats::suggestion;

/// A table's storage, made from its options.
pub trait Connector: Debug + Send + Sync {
    /// The name in `'connector' = …`.
    fn name(&self) -> &'static str;

    /// The row kinds that a scan yields; `None` where the table cannot be read.
    fn source_mode(&self) -> Option<ChangelogMode>;

    /// A source of these columns of the table, whose rows are of the traits that `table` implies.
    fn source(&self, table: &TableDefinition, columns: &SchemaRef) -> Result<Arc<dyn StreamNode>>;

    /// The rows of a table that is not a stream but has a present content, read in one piece; `None`
    /// for any other.
    fn contents(&self) -> Result<Option<RecordBatch>> {
        Ok(None)
    }

    /// Whether the table has such a content.
    fn has_contents(&self) -> bool {
        false
    }

    /// The row kinds that an INSERT may bring; `None` where the table cannot be written.
    fn sink_mode(&self) -> Option<ChangelogMode>;

    /// Whether of several rows of a query under one primary key the sink itself finds out which is there,
    /// or need not know.
    fn materializes(&self) -> bool {
        false
    }

    /// How the rows of an INSERT must be spread over the partitions of its sink.
    fn sink_distribution(&self) -> Distribution {
        Distribution::Any
    }

    /// What commits the output of a job's checkpoints; `None` where sinks write to where readers look, so that
    /// what came behind the last checkpoint is written again after a failure.
    fn committer(&self, table: &TableDefinition) -> Option<Arc<dyn Committer>> {
        let _ = table;
        None
    }

    /// A sink for rows of all physical columns of the table, for the partition that `task` runs.
    fn sink(&self, table: &TableDefinition, task: &StreamTask<'_>) -> Result<Box<dyn Sink>>;
}

/// The names of the connectors.
const CONNECTORS: [&str; 4] = ["filesystem", "print", "blackhole", "materialized"];

/// The connector that the options of a table name.
pub(super) fn connector_of(table: &TableDefinition, state: &SessionState) -> Result<Arc<dyn Connector>> {
    let Some(name) = table.options.get("connector") else {
        return plan_err!(
            "table {} has no option 'connector'; say WITH ('connector' = …), one of {}",
            table.name,
            CONNECTORS.join(", ")
        );
    };
    match name.as_str() {
        "filesystem" => {
            let base = PathBuf::from(StreamingOptions::of(state.config_options()).base_dir);
            Ok(Arc::new(Filesystem::try_new(table, &base, state.runtime_env())?))
        }
        "print" => Ok(Arc::new(Print::try_new(table)?)),
        "materialized" => Ok(Arc::new(Materialized::try_new(table)?)),
        "blackhole" => Ok(Arc::new(Blackhole::try_new(table)?)),
        unknown => plan_err!(
            "table {}: there is no connector '{unknown}'; {}",
            table.name,
            suggestion(unknown, CONNECTORS.into_iter())
        ),
    }
}
