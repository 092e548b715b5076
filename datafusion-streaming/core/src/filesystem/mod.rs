//! The connector `filesystem`: tables over files, local or in an object store.
//!
//! ```text
//! 'connector' = 'filesystem', 'path' = 'data/orders', 'format' = 'json', 'source.monitor-interval' = '10 s'
//! ```
//!
//! - [`FileLocation`]: where the files are, resolved from the option `path`;
//! - [`FilesystemReader`]: their rows as batches of changes, from any position on;
//! - [`FilesystemWriter`]: the way back.

mod commit;
mod files;
mod input;
mod location;
mod options;
mod partitions;
mod position;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use location::FileLocation;
pub(crate) use location::Place;
pub use options::FilesystemOptions;
pub use partitions::{PartitionColumns, PartitionedRows};
pub use reader::FilesystemReader;
pub use writer::{FilesystemWriter, PendingFile};
