//! The connector `print`: rows on standard output.

use std::io::Write;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::{Result, plan_err};
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, ChangelogMode};
use datafusion_streaming_physical_plan::runtime::{StreamNode, StreamTask};
use datafusion_streaming_udfs::timestamps::readable;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Connector, Sink, TableDefinition};
use crate::formats::TableOptions;

/// Prints rows as Flink's does: `+I[1, a]`, behind an identifier and the number of the partition if
/// they are asked for.
#[derive(Debug)]
pub(super) struct Print {
    identifier: Option<String>,
}

impl Print {
    pub(super) fn try_new(table: &TableDefinition) -> Result<Self> {
        let options = TableOptions::new(&table.name, &table.options);
        options.get("connector");
        let identifier = options.get("print-identifier").map(str::to_string);
        options.finish()?;
        Ok(Print { identifier })
    }
}

impl Connector for Print {
    fn name(&self) -> &'static str {
        "print"
    }

    fn source_mode(&self) -> Option<ChangelogMode> {
        None
    }

    fn source(&self, table: &TableDefinition, _columns: &SchemaRef) -> Result<Arc<dyn StreamNode>> {
        plan_err!("table {} cannot be read: its connector is 'print'", table.name)
    }

    fn sink_mode(&self) -> Option<ChangelogMode> {
        Some(ChangelogMode::ALL)
    }

    fn sink(&self, _table: &TableDefinition, task: &StreamTask<'_>) -> Result<Box<dyn Sink>> {
        let prefix = match (&self.identifier, task.partition) {
            (Some(identifier), 0) => format!("{identifier}> "),
            (Some(identifier), subtask) => format!("{identifier}:{}> ", subtask + 1),
            (None, 0) => String::new(),
            (None, subtask) => format!("{}> ", subtask + 1),
        };
        Ok(Box::new(PrintSink { prefix }))
    }
}

struct PrintSink {
    prefix: String,
}

impl PrintSink {
    fn print(&self, changes: &ChangelogBatch) -> Result<()> {
        let options = FormatOptions::default().with_null("null");
        let columns = changes.batch().columns().iter().map(readable).collect::<Result<Vec<_>>>()?;
        let columns = columns.iter().map(|column| ArrayFormatter::try_new(column, &options));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let mut out = std::io::stdout().lock();
        for row in 0..changes.num_rows() {
            let values: Vec<_> = columns.iter().map(|column| column.value(row).to_string()).collect();
            writeln!(out, "{}{}[{}]", self.prefix, changes.kind(row), values.join(", "))?;
        }
        Ok(())
    }
}

impl Sink for PrintSink {
    fn write<'a>(&'a mut self, changes: &'a ChangelogBatch) -> BoxFuture<'a, Result<()>> {
        futures::future::ready(self.print(changes)).boxed()
    }

    fn finish(&mut self) -> BoxFuture<'_, Result<()>> {
        futures::future::ready(Ok(())).boxed()
    }
}
