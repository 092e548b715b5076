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
/// A part appears, whole, when it is complete: at the end, or when it is as big or as old as the options say. What
/// is dropped before that has written nothing.
///
/// With [`FilesystemWriter::pending`] a part that is complete keeps a hidden name until a checkpoint commits it:
/// [`PendingFile`].
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
    /// Parts that are complete and hidden; `None` where they appear at once.
    pending: Option<Vec<PendingFile>>,
    /// What is to be written next, kept for its memory.
    bytes: Vec<u8>,
}

struct OpenPart {
    upload: WriteMultipart,
    size: u64,
    opened: i64,
}

/// A complete part file that waits to be committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingFile {
    /// The path in the store that it has.
    pub hidden: String,
    /// The path that it is to have.
    pub visible: String,
}

impl FilesystemWriter {
    /// A writer into the folder at `location`, for one of the subtasks of a job. `job` must be another one each
    /// time that a job starts to write into the folder: parts of the same name are replaced.
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
            pending: None,
            bytes: vec![],
        }
    }

    /// The writer whose parts stay hidden until they are committed.
    pub fn pending(self) -> Self {
        FilesystemWriter { pending: Some(vec![]), ..self }
    }

    /// Writes the rows of a batch.
    pub async fn write(&mut self, changes: &ChangelogBatch) -> Result<()> {
        if changes.num_rows() == 0 {
            return Ok(());
        }
        self.bytes.clear();
        self.encoder.encode(changes, &mut self.bytes)?;
        let now = self.clock.now();
        let path = self.written_path();
        let part = match &mut self.open {
            Some(part) => part,
            None => {
                let upload = self.location.store().put_multipart(&path).await;
                let upload = upload.map_err(|error| self.location.write_error(&path, error))?;
                self.open.insert(OpenPart { upload: WriteMultipart::new(upload), size: 0, opened: now })
            }
        };
        part.upload.write(&self.bytes);
        part.size += self.bytes.len() as u64;
        let size = part.size + self.encoder.kept_back() as u64;
        let age = u128::try_from(now.saturating_sub(part.opened)).unwrap_or(0);
        let is_done = size >= self.max_size || age >= self.max_age.as_millis();
        let capacity = part.upload.wait_for_capacity(UPLOADS).await;
        capacity.map_err(|error| self.location.write_error(&path, error))?;
        if is_done { self.complete().await } else { Ok(()) }
    }

    /// Completes the part that is being written, if there is one.
    pub async fn complete(&mut self) -> Result<()> {
        let Some(mut part) = self.open.take() else { return Ok(()) };
        let path = self.written_path();
        self.bytes.clear();
        self.encoder.finish_file(&mut self.bytes)?;
        part.upload.write(&self.bytes);
        part.upload.finish().await.map_err(|error| self.location.write_error(&path, error))?;
        let visible = self.visible_path().to_string();
        if let Some(pending) = &mut self.pending {
            pending.push(PendingFile { hidden: path.to_string(), visible });
        }
        self.next_part += 1;
        Ok(())
    }

    /// Completes the last part. Without any rows, the folder is there nevertheless, where there are folders.
    pub async fn finish(&mut self) -> Result<()> {
        self.complete().await?;
        if let Some(folder) = self.location.local.clone() {
            tokio::task::spawn_blocking(move || std::fs::create_dir_all(folder))
                .await
                .map_err(|error| DataFusionError::External(Box::new(error)))??;
        }
        Ok(())
    }

    /// The hidden parts that have been completed since the last call.
    pub fn take_pending(&mut self) -> Vec<PendingFile> {
        self.pending.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn visible_path(&self) -> Path {
        self.location.path.clone().join(format!("{}-{}", self.prefix, self.next_part))
    }

    /// The path of the part that is being written: a hidden one if it is to be committed.
    fn written_path(&self) -> Path {
        match self.pending {
            None => self.visible_path(),
            Some(_) => self.location.path.clone().join(format!(".{}-{}", self.prefix, self.next_part)),
        }
    }
}
