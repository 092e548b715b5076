//! Reading a table's files.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use datafusion::common::{Result, exec_datafusion_err, exec_err};
use datafusion_streaming_physical_plan::changelog::ChangelogBatch;
use datafusion_streaming_physical_plan::time::Clock;
use object_store::ObjectMeta;
use regex::Regex;

use super::files::{Files, OpenFile};
use super::position::{FilePosition, Position};
use super::{FileLocation, FilesystemOptions, PartitionedRows};
use crate::formats::{FileDecoder, ParseErrors};

/// Reads the rows of a table's files, file by file in the order of their names, each from start to end.
///
/// Without `source.monitor-interval` the files are those that are there at the first read, and then the
/// reader ends. With it the reader never ends: it looks for names that it has not read yet. A file is
/// read once; what is added to it later is not seen, as in Flink.
pub struct FilesystemReader {
    location: FileLocation,
    path_pattern: Option<Regex>,
    monitor_interval: Option<Duration>,
    files: Files,
    clock: Arc<dyn Clock>,
    /// The files that have been read, by their path in the store.
    done: BTreeSet<String>,
    /// The file that is being read.
    open: Option<OpenFile>,
    /// Files that are known and not begun.
    queue: VecDeque<ObjectMeta>,
    /// Where to begin in the file that a restored position is in.
    resume: Option<FilePosition>,
    /// When to look for files again; `None` before the first time.
    next_look: Option<i64>,
    /// Of a partitioned table.
    partitioned: Option<PartitionedRows>,
}

impl FilesystemReader {
    /// A reader at the start of the files at `location`, which decodes with `decoder` and yields batches
    /// of at most `batch_size` rows; the rows of one record stay together, though.
    pub fn new(
        location: FileLocation,
        options: &FilesystemOptions,
        decoder: FileDecoder,
        batch_size: usize,
        clock: Arc<dyn Clock>,
    ) -> Self {
        FilesystemReader {
            location,
            path_pattern: options.path_pattern.clone(),
            monitor_interval: options.monitor_interval,
            files: Files::new(decoder, batch_size),
            clock,
            done: BTreeSet::new(),
            open: None,
            queue: VecDeque::new(),
            resume: None,
            next_look: None,
            partitioned: None,
        }
    }

    /// The reader of a partitioned table, whose decoder gives the columns that are in the files.
    pub fn partitioned(self, rows: PartitionedRows) -> Self {
        FilesystemReader { partitioned: Some(rows), ..self }
    }

    /// The next rows, at least one; `None` at the end. It yields what is there, and waits only where
    /// there is nothing. Safe to cancel: a future that is dropped has lost nothing.
    ///
    /// Errors name the table and the file, and those about a record its line.
    pub async fn next(&mut self) -> Result<Option<ChangelogBatch>> {
        loop {
            if let Some(open) = &mut self.open {
                let Some(rows) = self.files.next(open).await? else {
                    self.done.insert(std::mem::take(&mut open.position.file));
                    self.open = None;
                    continue;
                };
                return match &self.partitioned {
                    Some(partitioned) => {
                        let completed = partitioned.complete(rows.batch(), &open.partition)?;
                        rows.with_batch(completed).map(Some)
                    }
                    None => Ok(Some(rows)),
                };
            }
            if !self.queue.is_empty() {
                self.open_next().await?;
            } else if self.next_look.is_none() || self.monitor_interval.is_some() {
                self.look_for_files().await?;
            } else {
                return Ok(None);
            }
        }
    }

    /// The place behind what [`FilesystemReader::next`] has returned, in a form of its own.
    pub fn position(&self) -> Vec<u8> {
        let current = self.open.as_ref().map(|open| &open.position).or(self.resume.as_ref());
        let mut position = Position { done: self.done.clone(), current: current.cloned() };
        if let Some(ended) = position.current.take_if(|current| current.is_at_end()) {
            position.done.insert(ended.file);
        }
        position.to_bytes()
    }

    /// Goes to a position. Called before the first [`FilesystemReader::next`]; the files of the position
    /// must still be there, and files that it does not know are read behind it.
    pub fn restore(&mut self, position: &[u8]) -> Result<()> {
        let Position { done, current } = Position::from_bytes(self.location.table(), position)?;
        self.done = done;
        self.resume = current;
        Ok(())
    }

    /// What `ignore-parse-errors` has passed over so far.
    pub fn ignored(&self) -> ParseErrors {
        self.files.ignored()
    }

    /// Opens the first file of the queue, at its start or where a restored position is.
    async fn open_next(&mut self) -> Result<()> {
        let Some(file) = self.queue.front() else { return Ok(()) };
        let name = format!("table '{}': {}", self.location.table(), self.location.display(&file.location));
        let resume = self.resume.as_ref();
        let start =
            || FilePosition { file: file.location.to_string(), size: file.size, place: self.files.start() };
        let position = resume.cloned().unwrap_or_else(start);
        let partition = match &self.partitioned {
            Some(rows) => rows.partitions.values(&self.location.path, &file.location),
            None => Ok(vec![]),
        };
        let partition = partition.map_err(|error| exec_datafusion_err!("{name}: {error}"))?;
        let open = OpenFile { name, position, partition };
        self.files.open(self.location.store(), &file.location, &open).await?;
        self.open = Some(open);
        self.resume = None;
        self.queue.pop_front();
        Ok(())
    }

    /// Finds the files that have not been read: at once the first time, then when it is time again.
    async fn look_for_files(&mut self) -> Result<()> {
        if let Some(next_look) = self.next_look {
            self.clock.sleep_until(next_look).await;
        }
        let files = self.location.files().await?;
        let wanted = files.into_iter().filter(|file| {
            let matches = |pattern: &Regex| pattern.is_match(&format!("/{}", file.location));
            !self.done.contains(file.location.as_ref()) && self.path_pattern.as_ref().is_none_or(matches)
        });
        let mut queue: VecDeque<ObjectMeta> = wanted.collect();
        if let Some(FilePosition { file: name, place: read, .. }) = &self.resume {
            let place = queue.iter().position(|file| file.location.as_ref() == name);
            let Some(file) = place.and_then(|place| queue.remove(place)) else {
                return exec_err!(
                    "table '{}': {name}, of which {read} have been read, is not there any more",
                    self.location.table()
                );
            };
            queue.push_front(file);
        }
        self.queue = queue;
        let interval = self.monitor_interval.unwrap_or_default().as_millis();
        self.next_look = Some(self.clock.now().saturating_add(i64::try_from(interval).unwrap_or(i64::MAX)));
        Ok(())
    }
}
