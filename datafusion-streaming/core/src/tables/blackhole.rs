//! The connector `blackhole`: takes everything and keeps nothing.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::{Result, plan_err};
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use datafusion_streaming_physical_plan::runtime::{StreamNode, StreamTask};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Connector, Sink, TableDefinition};
use crate::formats::TableOptions;

/// Discards rows. As Flink's, it does without `-U` rows, so that queries need not make them.
#[derive(Debug)]
pub(super) struct Blackhole;

impl Blackhole {
    pub(super) fn try_new(table: &TableDefinition) -> Result<Self> {
        let options = TableOptions::new(&table.name, &table.options);
        options.get("connector");
        options.finish()?;
        Ok(Blackhole)
    }
}

impl Connector for Blackhole {
    fn name(&self) -> &'static str {
        "blackhole"
    }

    fn source_mode(&self) -> Option<ChangelogMode> {
        None
    }

    fn source(&self, table: &TableDefinition, _columns: &SchemaRef) -> Result<Arc<dyn StreamNode>> {
        plan_err!("table {} cannot be read: its connector is 'blackhole'", table.name)
    }

    fn sink_mode(&self) -> Option<ChangelogMode> {
        Some(ChangelogMode::ALL.without(RowKind::UpdateBefore))
    }

    fn materializes(&self) -> bool {
        true
    }

    fn sink(&self, _table: &TableDefinition, _task: &StreamTask<'_>) -> Result<Box<dyn Sink>> {
        Ok(Box::new(Discard))
    }
}

struct Discard;

impl Sink for Discard {
    fn write<'a>(&'a mut self, _changes: &'a ChangelogBatch) -> BoxFuture<'a, Result<()>> {
        futures::future::ready(Ok(())).boxed()
    }

    fn finish(&mut self) -> BoxFuture<'_, Result<()>> {
        futures::future::ready(Ok(())).boxed()
    }
}
