//! The connector `filesystem`.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use ahash::RandomState;
use arrow::datatypes::SchemaRef;
use datafusion::common::{Result, plan_err};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use datafusion_streaming_physical_plan::runtime::{
    ElementStream, SourceReader, StreamElement, StreamNode, StreamTask, StreamTraits,
};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Connector, Sink, TableDefinition};
use crate::filesystem::{FileLocation, FilesystemOptions, FilesystemReader, FilesystemWriter};
use crate::formats::{Format, TableOptions};

/// Files in a folder.
#[derive(Debug)]
pub(super) struct Filesystem {
    location: FileLocation,
    options: FilesystemOptions,
    format: Format,
    upsert: bool,
}

/// Ours: that a table with a primary key is written as upserts, `'changelog-mode' = 'upsert'`.
const CHANGELOG_MODE: &str = "changelog-mode";

impl Filesystem {
    pub(super) fn try_new(table: &TableDefinition, base: &Path, runtime: &RuntimeEnv) -> Result<Self> {
        let options = TableOptions::new(&table.name, &table.options);
        options.get("connector");
        options.get("scan.watermark.idle-timeout");
        let own = FilesystemOptions::try_new(&options)?;
        let format = Format::try_new(&options)?;
        let own_mode = if format.is_insert_only() { "append" } else { "retract" };
        let upsert = options.choice(CHANGELOG_MODE, &[(own_mode, false), ("upsert", true)], false)?;
        options.finish()?;
        if upsert && table.primary_key.is_empty() {
            return plan_err!(
                "table {} has '{CHANGELOG_MODE}' = 'upsert' and no primary key; declare PRIMARY KEY (…) NOT ENFORCED",
                table.name
            );
        }
        let location = FileLocation::resolve(&table.name, &own.path, base, runtime)?;
        Ok(Filesystem { location, options: own, format, upsert })
    }

    fn mode(&self) -> ChangelogMode {
        match (self.upsert, self.format.is_insert_only()) {
            (true, _) => ChangelogMode::UPSERT,
            (false, true) => ChangelogMode::INSERT_ONLY,
            (false, false) => ChangelogMode::ALL,
        }
    }
}

impl Connector for Filesystem {
    fn name(&self) -> &'static str {
        "filesystem"
    }

    fn source_mode(&self) -> Option<ChangelogMode> {
        Some(self.mode())
    }

    fn source(&self, table: &TableDefinition, columns: &SchemaRef) -> Result<Arc<dyn StreamNode>> {
        let key: Option<Vec<usize>> =
            table.primary_key.iter().map(|name| columns.index_of(name).ok()).collect();
        Ok(Arc::new(FilesystemSourceNode {
            table: table.name.clone(),
            location: self.location.clone(),
            options: self.options.clone(),
            format: self.format.clone(),
            mode: self.mode(),
            upsert_key: key.filter(|key| !key.is_empty()),
            physical: Arc::clone(&table.physical),
            projection: columns
                .fields()
                .iter()
                .map(|field| table.physical.index_of(field.name()))
                .collect::<Result<_, _>>()?,
            schema: Arc::clone(columns),
        }))
    }

    /// A row of a format that has only rows can replace another, but not tell that one is gone.
    fn sink_mode(&self) -> Option<ChangelogMode> {
        Some(match self.upsert && self.format.is_insert_only() {
            true => self.mode().without(RowKind::Delete),
            false => self.mode(),
        })
    }

    fn sink(&self, table: &TableDefinition, task: &StreamTask<'_>) -> Result<Box<dyn Sink>> {
        let encoder = self.format.encoder(&table.name, &table.physical)?;
        let clock = Arc::clone(&task.environment().clock);
        // of two jobs that start in the same millisecond, the random part differs
        let job = format!("{:x}-{:08x}", clock.now(), RandomState::new().hash_one(task.partition) as u32);
        let writer =
            FilesystemWriter::new(self.location.clone(), &self.options, encoder, &job, task.partition, clock);
        Ok(Box::new(PartFiles { writer, as_rows: self.format.is_insert_only() }))
    }
}

struct PartFiles {
    writer: FilesystemWriter,
    /// The format has rows only: of an upsert the row is written.
    as_rows: bool,
}

impl Sink for PartFiles {
    fn write<'a>(&'a mut self, changes: &'a ChangelogBatch) -> BoxFuture<'a, Result<()>> {
        async move {
            match self.as_rows && changes.kinds().is_some() {
                true => self.writer.write(&ChangelogBatch::insert_only(changes.batch().clone())).await,
                false => self.writer.write(changes).await,
            }
        }
        .boxed()
    }

    fn finish(&mut self) -> BoxFuture<'_, Result<()>> {
        self.writer.finish().boxed()
    }
}

/// Reads the files of a table.
#[derive(Debug)]
struct FilesystemSourceNode {
    table: String,
    location: FileLocation,
    options: FilesystemOptions,
    format: Format,
    mode: ChangelogMode,
    upsert_key: Option<Vec<usize>>,
    /// All columns of the records.
    physical: SchemaRef,
    /// Those that are read.
    projection: Vec<usize>,
    schema: SchemaRef,
}

impl StreamNode for FilesystemSourceNode {
    fn name(&self) -> &'static str {
        "TableSource"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<_> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        write!(f, "table=[{}], format=[{}], columns=[{}]", self.table, self.format.name(), columns.join(", "))
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, _inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        Ok(StreamTraits {
            mode: self.mode,
            upsert_keys: self.upsert_key.clone().into_iter().collect(),
            ..StreamTraits::default()
        })
    }

    fn is_unbounded(&self) -> bool {
        self.options.is_unbounded()
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        let clock = Arc::clone(&task.environment().clock);
        let batch_size = task.context.session_config().batch_size();
        let decoder = self.format.decoder(&self.physical, Some(&self.projection))?;
        let reader = FilesystemReader::new(self.location.clone(), &self.options, decoder, batch_size, clock);
        task.run_source(Files { reader, upsert: self.mode.is_upsert() })
    }
}

struct Files {
    reader: FilesystemReader,
    /// The old contents of updates are left out.
    upsert: bool,
}

impl SourceReader for Files {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<StreamElement>>> {
        async move {
            let Some(changes) = self.reader.next().await? else { return Ok(None) };
            let changes = if self.upsert { changes.without_update_before()? } else { changes };
            Ok(Some(StreamElement::Data(changes)))
        }
        .boxed()
    }

    fn position(&self) -> Vec<u8> {
        self.reader.position()
    }

    fn restore(&mut self, position: &[u8]) -> Result<()> {
        self.reader.restore(position)
    }

    fn parse_errors(&self) -> usize {
        let ignored = self.reader.ignored();
        usize::try_from(ignored.records + ignored.fields).unwrap_or(usize::MAX)
    }
}
