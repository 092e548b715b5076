//! Writing a table's files.

use std::sync::Arc;
use std::time::Duration;

use datafusion::common::{DataFusionError, Result};
use datafusion_streaming_physical_plan::changelog::ChangelogBatch;
use datafusion_streaming_physical_plan::time::Clock;
use object_store::path::Path;
use object_store::{ObjectStoreExt, WriteMultipart};

use super::{FileLocation, FilesystemOptions};
use crate::formats::Encoder;

/// How many parts of an upload may be under way.
const UPLOADS: usize = 4;

/// Writes rows into the part files of a folder, `part-<job>-<subtask>-<number>`.
///
/// A part appears, whole, when it is complete: at [`FilesystemWriter::commit`], which a checkpoint calls, at
/// the end, or when it is as big or as old as the options say. What is dropped before that has written nothing.
pub struct FilesystemWriter {
    pub(super) location: FileLocation,
    encoder: Box<dyn Encoder>,
    prefix: String,
    max_size: u64,
    max_age: Duration,
    clock: Arc<dyn Clock>,
    /// The number of the next part.
    next_part: u64,
    open: Option<OpenPart>,
    /// Records under construction, kept for their memory.
    records: Vec<u8>,
}

struct OpenPart {
    upload: WriteMultipart,
    size: u64,
    opened: i64,
}

impl FilesystemWriter {
    /// A writer into the folder at `location`, for one of the subtasks of a job. `job` must be another one for
    /// every job that writes into the folder: parts of the same name are replaced.
    pub fn new(
        location: FileLocation,
        options: &FilesystemOptions,
        encoder: Box<dyn Encoder>,
        job: &str,
        subtask: usize,
        clock: Arc<dyn Clock>,
    ) -> Self {
        FilesystemWriter {
            location,
            encoder,
            prefix: format!("part-{job}-{subtask}"),
            max_size: options.rolling_size,
            max_age: options.rolling_interval,
            clock,
            next_part: 0,
            open: None,
            records: vec![],
        }
    }

    /// Writes the rows of a batch.
    pub async fn write(&mut self, changes: &ChangelogBatch) -> Result<()> {
        if changes.num_rows() == 0 {
            return Ok(());
        }
        self.records.clear();
        self.encoder.encode(changes, &mut self.records)?;
        let now = self.clock.now();
        let part = match &mut self.open {
            Some(part) => part,
            None => {
                let path = self.part_path();
                let upload = self.location.store().put_multipart(&path).await;
                let upload = upload.map_err(|error| self.error(&path, error))?;
                self.open.insert(OpenPart { upload: WriteMultipart::new(upload), size: 0, opened: now })
            }
        };
        part.upload.write(&self.records);
        part.size += self.records.len() as u64;
        let age = u128::try_from(now.saturating_sub(part.opened)).unwrap_or(0);
        let is_done = part.size >= self.max_size || age >= self.max_age.as_millis();
        let capacity = part.upload.wait_for_capacity(UPLOADS).await;
        capacity.map_err(|error| self.error(&self.part_path(), error))?;
        if is_done { self.commit().await } else { Ok(()) }
    }

    /// Completes the part that is being written, if there is one.
    pub async fn commit(&mut self) -> Result<()> {
        let Some(part) = self.open.take() else { return Ok(()) };
        part.upload.finish().await.map_err(|error| self.error(&self.part_path(), error))?;
        self.next_part += 1;
        Ok(())
    }

    /// Completes the last part. Without any rows, the folder is there nevertheless, where there are folders.
    pub async fn finish(&mut self) -> Result<()> {
        self.commit().await?;
        if let Some(folder) = self.location.local.clone() {
            tokio::task::spawn_blocking(move || std::fs::create_dir_all(folder))
                .await
                .map_err(|error| DataFusionError::External(Box::new(error)))??;
        }
        Ok(())
    }

    /// The number of parts that are complete: what a checkpoint keeps, taken after a commit.
    pub fn parts(&self) -> u64 {
        self.next_part
    }

    /// Goes on behind a number of parts; later ones, written before a failure, are replaced.
    pub fn restore(&mut self, parts: u64) {
        self.next_part = parts;
    }

    fn part_path(&self) -> Path {
        self.location.path.clone().join(format!("{}-{}", self.prefix, self.next_part))
    }

    fn error(&self, path: &Path, error: object_store::Error) -> DataFusionError {
        let (table, path) = (self.location.table(), self.location.display(path));
        DataFusionError::from(error).context(format!("table '{table}': {path} cannot be written"))
    }
}
