//! Where a reader is.

use std::collections::BTreeSet;

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

/// A place between two records of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FilePosition {
    /// The path in the store.
    pub(super) file: String,
    /// The size of the file when it was found, in bytes: what it has grown since is not read.
    pub(super) size: u64,
    /// The offset of the next record, in bytes.
    pub(super) offset: u64,
    /// The number of its first line, from 1 on.
    pub(super) line: u64,
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
