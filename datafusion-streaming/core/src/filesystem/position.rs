//! Where a reader is.

use std::collections::BTreeSet;
use std::fmt;

use datafusion::common::{Result, exec_datafusion_err};
use serde::{Deserialize, Serialize};

/// What has been read of a table's files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// The files that have been read to their end, by their path in the store.
    pub(super) done: BTreeSet<String>,
    /// The file that is being read.
    pub(super) current: Option<FilePosition>,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FilePosition {
    /// The path in the store.
    pub(super) file: String,
    /// The size of the file when it was found, in bytes: what it has grown since is not read.
    pub(super) size: u64,
    /// How far it has been read.
    #[serde(flatten)]
    pub(super) place: FilePlace,
}

/// What comes next in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum FilePlace {
    /// In a file of records: between two of them.
    Record {
        /// The offset of the next record, in bytes.
        offset: u64,
        /// The number of its first line, from 1 on.
        line: u64,
    },
    /// In a file of a bulk format: between two rows.
    Row {
        /// How many rows have been read.
        row: u64,
        /// How many the file has, where that is known.
        rows: Option<u64>,
    },
}

impl FilePosition {
    /// Whether nothing comes next.
    pub(super) fn is_at_end(&self) -> bool {
        match self.place {
            FilePlace::Record { offset, .. } => offset >= self.size,
            FilePlace::Row { row, rows } => rows.is_some_and(|rows| row >= rows),
        }
    }
}

/// How much has been read.
impl fmt::Display for FilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FilePlace::Record { offset, .. } => write!(f, "{offset} bytes"),
            FilePlace::Row { row, .. } => write!(f, "{row} rows"),
        }
    }
}

impl Position {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        // Strings and numbers have a JSON form, so this cannot fail
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(super) fn from_bytes(table: &str, bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes)
            .map_err(|error| exec_datafusion_err!("the position of table '{table}' cannot be read: {error}"))
    }
}
