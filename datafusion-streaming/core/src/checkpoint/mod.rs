//! Checkpoints on durable storage.
//!
//! ```text
//! <folder of the job>/
//!   chk-7/manifest.json     written last: a checkpoint without one is no checkpoint
//!   chk-8/manifest.json
//!   shared/<blake3>.state   a range of key groups of a table, named by its content
//! ```
//!
//! - [`CheckpointStorage`]: a job's checkpoints at an object store URL: write, read, find the latest, keep some;
//! - `manifest`: the operators of a checkpoint, their tables and the files these are in;
//! - `state_file`: rows as Arrow IPC behind a magic word, a version and a checksum;
//! - `ranges`: tables cut by key group;
//! - `stored`: tables that are too large to be read at once.
//!
//! A file is named by its content, so that what has not changed since an earlier checkpoint is not written again: a
//! checkpoint costs what has changed, down to a range of key groups. Small tables stand in the manifest itself.
//! Whatever is read is checked before it is used; what is cut short, changed, missing or of a later version is
//! refused with the name of the file.

mod manifest;
mod ranges;
mod state_file;
mod storage;
mod stored;

pub use storage::{CheckpointInfo, CheckpointKind, CheckpointStorage};
