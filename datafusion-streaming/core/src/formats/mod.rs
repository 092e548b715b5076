//! Formats: how the records of a file (or of any stream of bytes) become rows, and rows records.
//!
//! A [`Format`] is what `'format' = '…'` and the options behind its name say. It makes a [`Decoder`],
//! which cuts bytes into records and writes each straight into typed columns, and an [`Encoder`]. The
//! forms of the values are Flink's: a table that Flink wrote reads here, and the other way round.
//!
//! | format | records | kinds of change |
//! |---|---|---|
//! | `json` | a JSON object a line | `+I` |
//! | `csv` | RFC 4180 | `+I` |
//! | `debezium-json` | Debezium's envelopes, one a line | all |

mod cell;
mod column;
mod csv;
mod debezium;
mod format;
mod json;
mod number;
mod options;
mod rows;
mod scalar;
mod time;

use std::fmt;

use datafusion::common::{Result, exec_err};
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, RowKind};

pub use csv::CsvOptions;
pub use debezium::DebeziumOptions;
pub use format::Format;
pub use json::JsonOptions;
pub use options::{TableOptions, suggestion};
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

/// Writes rows as records.
pub trait Encoder: Send {
    /// Appends the records of a batch to `out`, each with its line end. An error names the table where it
    /// cannot take a change.
    fn encode(&mut self, changes: &ChangelogBatch, out: &mut Vec<u8>) -> Result<()>;
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
