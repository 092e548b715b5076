//! The connector `filesystem`.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use ahash::RandomState;
use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::datatypes::SchemaRef;
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use datafusion_streaming_physical_plan::runtime::{
    ElementStream, JobScope, SourceReader, StreamElement, StreamNode, StreamTask, StreamTraits, TableSnapshot,
};
use datafusion_streaming_physical_plan::state::KeyInterner;
use datafusion_streaming_physical_plan::time::Clock;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Committer, Connector, Sink, TableDefinition};
use crate::filesystem::{
    FileLocation, FilesystemOptions, FilesystemReader, FilesystemWriter, PartitionColumns, PartitionedRows,
    PendingFile,
};
use crate::formats::{Format, TableOptions};

/// Files in a folder.
#[derive(Debug)]
pub(super) struct Filesystem {
    location: FileLocation,
    options: FilesystemOptions,
    format: Format,
    upsert: bool,
    partitions: PartitionColumns,
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
        let default_name = options.get("partition.default-name").unwrap_or("__DEFAULT_PARTITION__");
        let names = &table.partitioned_by;
        let partitions = PartitionColumns::try_new(&table.name, &table.physical, names, default_name)?;
        options.finish()?;
        if upsert && table.primary_key.is_empty() {
            return plan_err!(
                "table {} has '{CHANGELOG_MODE}' = 'upsert' and no primary key; declare PRIMARY KEY (…) NOT ENFORCED",
                table.name
            );
        }
        let location = FileLocation::resolve(&table.name, &own.path, base, runtime)?;
        Ok(Filesystem { location, options: own, format, upsert, partitions })
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
            partitions: self.partitions.clone(),
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

    fn committer(&self, _table: &TableDefinition) -> Option<Arc<dyn Committer>> {
        Some(Arc::new(PartCommitter { location: self.location.clone() }))
    }

    fn sink(&self, table: &TableDefinition, task: &StreamTask<'_>) -> Result<Box<dyn Sink>> {
        let environment = task.environment();
        let clock = Arc::clone(&environment.clock);
        let job = match &environment.job {
            Some(job) => format!("{}{}-{}", pending_prefix(job), job.attempt, task.id.number),
            // of two queries that start in the same millisecond, the random part differs
            None => {
                format!("{:x}-{:08x}", clock.now(), RandomState::new().hash_one(task.partition) as u32)
            }
        };
        let make = PartWriters {
            table: table.name.clone(),
            location: self.location.clone(),
            options: self.options.clone(),
            format: self.format.clone(),
            schema: self.partitions.file_schema()?,
            job,
            subtask: task.partition,
            is_pending: environment.job.is_some(),
            clock,
        };
        let as_rows = self.format.is_insert_only();
        if self.partitions.is_empty() {
            return Ok(Box::new(PartFiles { writers: vec![make.writer(&[])?], partitioning: None, as_rows }));
        }
        let keys = KeyInterner::try_new(&self.partitions.types())?;
        let partitioning = Partitioning { partitions: self.partitions.clone(), keys, make };
        Ok(Box::new(PartFiles { writers: vec![], partitioning: Some(partitioning), as_rows }))
    }
}

/// What stands behind `part-` in the names of a job's files. Names of jobs have no dots, so none begins with
/// another.
fn pending_prefix(job: &JobScope) -> String {
    format!("{}.", job.id)
}

/// Makes the writers of a sink.
struct PartWriters {
    table: String,
    location: FileLocation,
    options: FilesystemOptions,
    format: Format,
    /// The columns of the files.
    schema: SchemaRef,
    job: String,
    subtask: usize,
    is_pending: bool,
    clock: Arc<dyn Clock>,
}

impl PartWriters {
    /// The writer for the folders of a partition.
    fn writer(&self, folders: &[String]) -> Result<FilesystemWriter> {
        let encoder = self.format.encoder(&self.table, &self.schema)?;
        let (location, clock) = (self.location.below(folders)?, Arc::clone(&self.clock));
        let writer = FilesystemWriter::new(location, &self.options, encoder, &self.job, self.subtask, clock);
        Ok(if self.is_pending { writer.pending() } else { writer })
    }
}

/// Spreads the rows of a partitioned table over its folders.
struct Partitioning {
    partitions: PartitionColumns,
    /// The partitions that rows have come of: each slot has a writer.
    keys: KeyInterner,
    make: PartWriters,
}

/// The writers of a sink: one, or one for each partition.
struct PartFiles {
    writers: Vec<FilesystemWriter>,
    partitioning: Option<Partitioning>,
    /// The format has rows only: of an upsert the row is written.
    as_rows: bool,
}

impl PartFiles {
    async fn write_rows(&mut self, changes: &ChangelogBatch) -> Result<()> {
        let Some(partitioning) = &mut self.partitioning else { return self.writers[0].write(changes).await };
        let columns = changes.batch().columns();
        let values: Vec<_> =
            partitioning.partitions.columns().iter().map(|column| Arc::clone(&columns[*column])).collect();
        let mut slots = vec![];
        partitioning.keys.intern(&values, changes.num_rows(), &mut slots)?;
        let mut rows: Vec<Vec<u32>> = vec![vec![]; partitioning.keys.slots()];
        for (row, slot) in slots.into_iter().enumerate() {
            if self.writers.len() <= slot as usize {
                let folders = partitioning.partitions.folders(&values, row)?;
                self.writers.push(partitioning.make.writer(&folders)?);
            }
            rows[slot as usize].push(row as u32);
        }
        let in_files =
            changes.with_batch(changes.batch().project(&partitioning.partitions.file_columns())?)?;
        for (writer, rows) in self.writers.iter_mut().zip(rows) {
            if !rows.is_empty() {
                writer.write(&in_files.take(&rows)?).await?;
            }
        }
        Ok(())
    }
}

impl Sink for PartFiles {
    fn write<'a>(&'a mut self, changes: &'a ChangelogBatch) -> BoxFuture<'a, Result<()>> {
        async move {
            match self.as_rows && changes.kinds().is_some() {
                true => self.write_rows(&ChangelogBatch::insert_only(changes.batch().clone())).await,
                false => self.write_rows(changes).await,
            }
        }
        .boxed()
    }

    fn finish(&mut self) -> BoxFuture<'_, Result<()>> {
        async move {
            for writer in &mut self.writers {
                writer.finish().await?;
            }
            if let Some(partitioning) = &self.partitioning {
                // the table's own folder, should there have been no rows
                partitioning.make.writer(&[])?.finish().await?;
            }
            Ok(())
        }
        .boxed()
    }

    /// Completes the open parts, and names those that are to be committed.
    fn snapshot(&mut self) -> BoxFuture<'_, Result<Vec<TableSnapshot>>> {
        async move {
            let mut files = vec![];
            for writer in &mut self.writers {
                writer.complete().await?;
                files.extend(writer.take_pending());
            }
            let hidden = StringArray::from_iter_values(files.iter().map(|file| file.hidden.as_str()));
            let visible = StringArray::from_iter_values(files.iter().map(|file| file.visible.as_str()));
            let columns: [(&str, ArrayRef); 2] =
                [("hidden", Arc::new(hidden)), ("visible", Arc::new(visible))];
            let rows = RecordBatch::try_from_iter(columns)?;
            Ok(vec![TableSnapshot { name: "pending".to_string(), keyed: false, rows }])
        }
        .boxed()
    }
}

/// Commits the part files of a table.
#[derive(Debug)]
struct PartCommitter {
    location: FileLocation,
}

impl Committer for PartCommitter {
    fn commit(&self, snapshots: Vec<TableSnapshot>) -> BoxFuture<'_, Result<()>> {
        async move {
            for table in snapshots {
                let columns = table.rows.columns().iter().map(|column| column.as_string_opt::<i32>());
                let Some([hidden, visible]) = columns
                    .collect::<Option<Vec<_>>>()
                    .as_deref()
                    .and_then(|columns| <[_; 2]>::try_from(columns).ok())
                else {
                    return exec_err!(
                        "table '{}': the checkpoint does not name its files as it should",
                        self.location.table()
                    );
                };
                for (hidden, visible) in hidden.iter().zip(visible.iter()) {
                    let name = |path: Option<&str>| path.unwrap_or_default().to_string();
                    let file = PendingFile { hidden: name(hidden), visible: name(visible) };
                    self.location.commit(&file).await?;
                }
            }
            Ok(())
        }
        .boxed()
    }

    fn clean<'a>(&'a self, job: &'a JobScope) -> BoxFuture<'a, Result<()>> {
        async move { self.location.remove_hidden(&pending_prefix(job)).await }.boxed()
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
    partitions: PartitionColumns,
    /// The columns that are read, by their index among those of the table.
    projection: Vec<usize>,
    schema: SchemaRef,
}

impl StreamNode for FilesystemSourceNode {
    fn name(&self) -> &'static str {
        "TableSource"
    }

    fn identity(&self) -> String {
        format!("TableSource[{}]", self.table)
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
        let rows = PartitionedRows::try_new(self.partitions.clone(), &self.projection)?;
        let decoder = self.format.decoder(&self.partitions.file_schema()?, Some(rows.file_projection()))?;
        let reader = FilesystemReader::new(self.location.clone(), &self.options, decoder, batch_size, clock);
        let reader = if self.partitions.is_empty() { reader } else { reader.partitioned(rows) };
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
