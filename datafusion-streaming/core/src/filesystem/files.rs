//! One file after the other, read as its format is laid out.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::common::{Result, ScalarValue, exec_datafusion_err, exec_err};
use datafusion_streaming_physical_plan::changelog::ChangelogBatch;
use futures::FutureExt;
use futures::future::BoxFuture;
use object_store::ObjectStore;
use object_store::path::Path;

use super::input::Input;
use super::position::{FilePlace, FilePosition};
use crate::formats::{BulkDecoder, BulkStep, Decoder, FileDecoder, ParseErrors};

/// No record may be longer: one that never ends would take all memory.
const MAX_RECORD: usize = 128 << 20;

/// A file that is being read.
pub(super) struct OpenFile {
    /// Table and file, for messages.
    pub(super) name: String,
    pub(super) position: FilePosition,
    /// The values of the partition columns.
    pub(super) partition: Vec<ScalarValue>,
}

/// Reads files, one at a time. All methods are safe to cancel.
pub(super) enum Files {
    Records(RecordFiles),
    Bulk(BulkFiles),
}

impl Files {
    pub(super) fn new(decoder: FileDecoder, batch_size: usize) -> Self {
        let batch_size = batch_size.max(1);
        match decoder {
            FileDecoder::Records(decoder) => Files::Records(RecordFiles { decoder, batch_size, input: None }),
            FileDecoder::Bulk(decoder) => {
                Files::Bulk(BulkFiles { decoder, batch_size, file: None, fetching: None })
            }
        }
    }

    /// The place that a file is begun at.
    pub(super) fn start(&self) -> FilePlace {
        match self {
            Files::Records(_) => FilePlace::Record { offset: 0, line: 1 },
            Files::Bulk(_) => FilePlace::Row { row: 0, rows: None },
        }
    }

    /// Begins a file at its position.
    pub(super) async fn open(
        &mut self,
        store: &Arc<dyn ObjectStore>,
        path: &Path,
        open: &OpenFile,
    ) -> Result<()> {
        let FilePosition { size, place, .. } = &open.position;
        match (self, place) {
            (Files::Records(files), FilePlace::Record { offset, .. }) => {
                let input = Input::open(store.as_ref(), path, *offset, *size).await;
                files.input = Some(input.map_err(|error| exec_datafusion_err!("{}: {error}", open.name))?);
            }
            (Files::Bulk(files), FilePlace::Row { row, .. }) => {
                let opened = files.decoder.open(*size, *row, files.batch_size);
                opened.map_err(|error| exec_datafusion_err!("{}: {error}", open.name))?;
                files.fetching = None;
                files.file = Some((Arc::clone(store), path.clone()));
            }
            _ => {
                return exec_err!(
                    "{}, of which {place} have been read, was read in another format before; give the table the \
                     format that it had, or start without the state",
                    open.name
                );
            }
        }
        Ok(())
    }

    /// The next rows of the open file, at least one; `None` at its end.
    pub(super) async fn next(&mut self, open: &mut OpenFile) -> Result<Option<ChangelogBatch>> {
        match self {
            Files::Records(files) => files.next(open).await,
            Files::Bulk(files) => files.next(open).await,
        }
    }

    /// What `ignore-parse-errors` has passed over so far.
    pub(super) fn ignored(&self) -> ParseErrors {
        match self {
            Files::Records(files) => files.decoder.ignored(),
            Files::Bulk(_) => ParseErrors::default(),
        }
    }
}

/// Files that are records, one behind the other.
pub(super) struct RecordFiles {
    decoder: Box<dyn Decoder>,
    batch_size: usize,
    /// The open file.
    input: Option<Input>,
}

impl RecordFiles {
    async fn next(&mut self, open: &mut OpenFile) -> Result<Option<ChangelogBatch>> {
        loop {
            if self.decode(open)? {
                return self.decoder.finish().map(Some);
            }
            match &mut self.input {
                Some(input) if !input.is_at_end() => {
                    input.read().await.map_err(|error| exec_datafusion_err!("{}: {error}", open.name))?;
                }
                _ => return Ok(None),
            }
        }
    }

    /// Decodes the records that have been read, and tells whether there are rows to yield.
    fn decode(&mut self, open: &mut OpenFile) -> Result<bool> {
        let OpenFile { name, position, .. } = open;
        let (Some(input), FilePlace::Record { offset, line }) = (&mut self.input, &mut position.place) else {
            return Ok(false);
        };
        while self.decoder.rows() < self.batch_size {
            let bytes = input.bytes();
            let record = match self.decoder.next_record(bytes) {
                Some(len) => &bytes[..len],
                None if input.is_at_end() && !bytes.is_empty() => bytes,
                None if bytes.len() > MAX_RECORD => {
                    return exec_err!("{name}, line {line}: the record is longer than {MAX_RECORD} bytes");
                }
                None => return Ok(self.decoder.rows() > 0),
            };
            if let Err(error) = self.decoder.decode(record) {
                return exec_err!("{name}, line {line}: {error}");
            }
            let len = record.len();
            *offset += len as u64;
            *line += record.iter().filter(|byte| **byte == b'\n').count() as u64;
            input.consume(len);
        }
        Ok(true)
    }
}

/// Files of a bulk format.
pub(super) struct BulkFiles {
    decoder: Box<dyn BulkDecoder>,
    batch_size: usize,
    /// The open file.
    file: Option<(Arc<dyn ObjectStore>, Path)>,
    /// What the decoder has asked for, on its way.
    fetching: Option<Fetching>,
}

type Fetching = BoxFuture<'static, (Vec<Range<u64>>, object_store::Result<Vec<Bytes>>)>;

impl BulkFiles {
    async fn next(&mut self, open: &mut OpenFile) -> Result<Option<ChangelogBatch>> {
        let OpenFile { name, position, .. } = open;
        loop {
            if let Some(fetching) = &mut self.fetching {
                let (ranges, bytes) = fetching.await;
                self.fetching = None;
                let bytes = bytes.map_err(|error| exec_datafusion_err!("{name}: {error}"))?;
                let provided = self.decoder.provide(ranges, bytes);
                provided.map_err(|error| exec_datafusion_err!("{name}: {error}"))?;
            }
            let step = self.decoder.step();
            match step.map_err(|error| exec_datafusion_err!("{name}{}: {error}", behind(&position.place)))? {
                BulkStep::Needs(ranges) => {
                    let Some((store, path)) = self.file.clone() else { return Ok(None) };
                    let fetching = async move {
                        let bytes = store.get_ranges(&path, &ranges).await;
                        (ranges, bytes)
                    };
                    self.fetching = Some(fetching.boxed());
                }
                BulkStep::Rows(batch) => {
                    if let FilePlace::Row { row, rows } = &mut position.place {
                        *row += batch.num_rows() as u64;
                        *rows = self.decoder.rows();
                    }
                    return Ok(Some(ChangelogBatch::insert_only(batch)));
                }
                BulkStep::End => return Ok(None),
            }
        }
    }
}

/// Where in its file an error is.
fn behind(place: &FilePlace) -> String {
    match place {
        FilePlace::Row { row, .. } if *row > 0 => format!(", behind row {row}"),
        _ => String::new(),
    }
}
