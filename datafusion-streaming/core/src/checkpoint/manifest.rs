//! What a checkpoint consists of, as JSON.

use std::collections::BTreeSet;

use datafusion::common::{Result, exec_datafusion_err};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

const FORMAT: &str = "datafusion-streaming checkpoint";
const VERSION: u32 = 1;

/// The file: its content as text, with a checksum of that text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope {
    format: String,
    version: u32,
    /// BLAKE3 of the content.
    checksum: String,
    content: Box<RawValue>,
}

/// A checkpoint.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub id: u64,
    pub job: String,
    /// Whether it was asked for by a user, to be kept.
    pub savepoint: bool,
    /// Whether the job had come to the end of its input.
    pub finished: bool,
    /// When it was completed, in milliseconds since the epoch.
    pub time: i64,
    pub operators: Vec<OperatorEntry>,
}

/// An operator's state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct OperatorEntry {
    pub name: String,
    pub number: usize,
    pub subtasks: Vec<SubtaskEntry>,
}

/// The state of a partition of an operator.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct SubtaskEntry {
    pub subtask: usize,
    pub watermark: i64,
    pub inputs: Vec<(i64, bool)>,
    pub tables: Vec<TableEntry>,
}

/// A table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TableEntry {
    pub name: String,
    pub keyed: bool,
    /// Names and types of the columns, for those who read the manifest; the files have them, too.
    pub columns: Vec<(String, String)>,
    pub rows: u64,
    pub parts: Vec<PartEntry>,
}

/// A range of key groups of a table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PartEntry {
    pub key_groups: (u16, u16),
    pub bytes: u64,
    pub data: PartData,
}

/// Where the rows are.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PartData {
    /// Here, in base64.
    Inline(String),
    /// In a shared file whose name is the BLAKE3 of its content.
    File(String),
}

impl Manifest {
    /// The names of the shared files.
    pub(super) fn files(&self) -> BTreeSet<&str> {
        let subtasks = self.operators.iter().flat_map(|operator| &operator.subtasks);
        let parts = subtasks.flat_map(|subtask| &subtask.tables).flat_map(|table| &table.parts);
        let files = parts.filter_map(|part| match &part.data {
            PartData::File(name) => Some(name.as_str()),
            PartData::Inline(_) => None,
        });
        files.collect()
    }

    pub(super) fn to_bytes(&self) -> Result<Vec<u8>> {
        let failed = |error: serde_json::Error| exec_datafusion_err!("a manifest cannot be written: {error}");
        let content = serde_json::value::to_raw_value(self).map_err(failed)?;
        let checksum = blake3::hash(content.get().as_bytes()).to_hex().to_string();
        let envelope = Envelope { format: FORMAT.to_string(), version: VERSION, checksum, content };
        serde_json::to_vec(&envelope).map_err(failed)
    }

    /// The manifest in some bytes, or what is wrong with them.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let envelope: Envelope = serde_json::from_slice(bytes)
            .map_err(|error| format!("it is no manifest, or not a whole one: {error}"))?;
        if envelope.format != FORMAT {
            return Err(format!("it is no manifest: its format is '{}'", envelope.format));
        }
        if envelope.version > VERSION {
            return Err(format!(
                "it is of version {}, and this program reads versions up to {VERSION}",
                envelope.version
            ));
        }
        if envelope.version != VERSION {
            return Err(format!("there is no version {}", envelope.version));
        }
        let content = envelope.content.get();
        if blake3::hash(content.as_bytes()).to_hex().as_str() != envelope.checksum {
            return Err("its content is not what its checksum says".to_string());
        }
        serde_json::from_str(content).map_err(|error| format!("it cannot be read: {error}"))
    }
}
