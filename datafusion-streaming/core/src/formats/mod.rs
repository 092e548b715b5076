//! Formats: how the records of a file (or of any stream of bytes) become rows, and rows records.
//!
//! A [`Format`] is what `'format' = '…'` and the options behind its name say. It makes a [`FileDecoder`] and
//! an [`Encoder`]. The forms of the values are Flink's: a table that Flink wrote reads here, and the other
//! way round.
//!
//! | format | records | kinds of change |
//! |---|---|---|
//! | `json` | a JSON object a line | `+I` |
//! | `csv` | RFC 4180 | `+I` |
//! | `debezium-json` | Debezium's envelopes, one a line | all |
//! | `parquet` | none: a bulk format | `+I` |
//!
//! A format of records has a [`Decoder`], which cuts bytes into records and writes each straight into typed
//! columns. The files of a bulk format are read by an index at their end: its [`BulkDecoder`] says which bytes
//! it needs. `parquet` comes with the cargo feature of that name.

mod cell;
mod column;
mod csv;
mod debezium;
mod format;
mod json;
mod number;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod rows;
mod scalar;
mod time;

use std::fmt;
use std::ops::Range;

use arrow::array::RecordBatch;
use bytes::Bytes;
use datafusion::common::{Result, exec_err};
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, RowKind};

pub use csv::CsvOptions;
pub use debezium::DebeziumOptions;
pub use format::Format;
pub use json::JsonOptions;
pub use options::{TableOptions, suggestion};
#[cfg(feature = "parquet")]
pub use parquet::{ParquetCompression, ParquetOptions, ParquetTimestamps};
pub use time::TimestampStandard;

/// What is wrong with a record. Whoever reads the records adds where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed(String);

impl Malformed {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Malformed(message.into())
    }

    /// The same with the name of the place in front.
    fn within(self, place: &str) -> Self {
        Malformed(format!("{place}: {}", self.0))
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

/// What `ignore-parse-errors` has passed over so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ParseErrors {
    /// Records that gave no rows.
    pub records: u64,
    /// Fields that could not be read and became NULL.
    pub fields: u64,
}

/// What reads the files of a format.
pub enum FileDecoder {
    /// Of a format whose files are records, one behind the other.
    Records(Box<dyn Decoder>),
    /// Of a bulk format.
    Bulk(Box<dyn BulkDecoder>),
}

impl FileDecoder {
    #[cfg(test)]
    pub(crate) fn records(self) -> Box<dyn Decoder> {
        match self {
            FileDecoder::Records(decoder) => decoder,
            FileDecoder::Bulk(_) => panic!("a bulk format has no records"),
        }
    }
}

/// Reads records into a batch.
///
/// ```text
/// loop { next_record → decode → … until rows() is enough; finish }
/// ```
///
/// After an error the decoder is of no further use: columns may differ in length.
pub trait Decoder: Send {
    /// The length of the first record in `input`, its line end included; `None` where `input` ends
    /// within the record.
    fn next_record(&self, input: &[u8]) -> Option<usize> {
        input.iter().position(|byte| *byte == b'\n').map(|end| end + 1)
    }

    /// Decodes one record, with or without its line end. It adds any number of rows: none where it is
    /// empty, or wrong and ignored; two for an update.
    fn decode(&mut self, record: &[u8]) -> Result<(), Malformed>;

    /// The number of rows decoded since the last [`Decoder::finish`].
    fn rows(&self) -> usize;

    /// What has been ignored since the decoder was made.
    fn ignored(&self) -> ParseErrors;

    /// The rows decoded since the last call.
    fn finish(&mut self) -> Result<ChangelogBatch>;
}

/// Reads the files of a bulk format into batches of `+I` rows, without any I/O of its own.
///
/// ```text
/// open; loop { step → Needs: provide → step → … → Rows; … End }
/// ```
///
/// After an error the decoder is of no further use.
pub trait BulkDecoder: Send {
    /// Begins with a file of `size` bytes, behind its first `row` rows. Batches are to have at most `batch_size`
    /// rows.
    fn open(&mut self, size: u64, row: u64, batch_size: usize) -> Result<(), Malformed>;

    /// The next rows of the file, or what is needed for them.
    fn step(&mut self) -> Result<BulkStep, Malformed>;

    /// The bytes of the ranges that [`BulkDecoder::step`] has asked for, in its order.
    fn provide(&mut self, ranges: Vec<Range<u64>>, bytes: Vec<Bytes>) -> Result<(), Malformed>;

    /// The number of rows in the file, as soon as it is known.
    fn rows(&self) -> Option<u64>;
}

/// How far a [`BulkDecoder`] has come.
#[derive(Debug)]
pub enum BulkStep {
    /// These ranges of the file are to be provided, in bytes from its start.
    Needs(Vec<Range<u64>>),
    /// The next rows, at least one.
    Rows(RecordBatch),
    /// The file has no more rows.
    End,
}

/// Writes rows into part files.
pub trait Encoder: Send {
    /// Appends to `out` what can be written of the file by now. Of a format of records that is all of the batch,
    /// each record with its line end; an encoder of a bulk format keeps rows back. An error names the table, and
    /// the column whose value has no form.
    fn encode(&mut self, changes: &ChangelogBatch, out: &mut Vec<u8>) -> Result<()>;

    /// Ends the file: appends all of it that has been kept back. The next batch begins another one.
    fn finish_file(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let _ = out;
        Ok(())
    }

    /// How many bytes the rows kept back will have, about.
    fn kept_back(&self) -> usize {
        0
    }
}

/// An error unless all rows are insertions.
fn insert_only(table: &str, format: &str, changes: &ChangelogBatch) -> Result<()> {
    let Some(kind) = changes.kinds().and_then(|kinds| kinds.iter().find(|kind| *kind != RowKind::Insert))
    else {
        return Ok(());
    };
    exec_err!(
        "table '{table}' was given a {kind} row, but its format '{format}' writes insertions only; \
         'debezium-json' takes updates"
    )
}

/// A record without its line end.
fn without_line_end(record: &[u8]) -> &[u8] {
    let record = record.strip_suffix(b"\n").unwrap_or(record);
    record.strip_suffix(b"\r").unwrap_or(record)
}
