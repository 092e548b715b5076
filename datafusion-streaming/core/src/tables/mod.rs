//! Streaming tables: those of `CREATE TABLE`, and one for embedders to push changes into.
//!
//! ```text
//!   TableDefinition     columns, computed columns, watermark, primary key, options: planned once
//!   StreamTable         the DataFusion TableProvider: a scan is
//!                         source -> Calc (computed columns) -> WatermarkAssigner -> Calc (projection)
//!   Connector           where rows come from and go to, a file each
//! ```

mod blackhole;
mod connector;
mod definition;
mod filesystem;
mod lookup;
mod materialized;
mod print;
mod push;
mod sink;
mod stream_table;

pub use connector::Connector;
pub use definition::{TableColumn, TableDefinition};
pub use lookup::lookup_options;
pub use push::{ChangelogSender, ChangelogTable, source_plan};
pub use sink::{Committer, Sink, SinkNode};
pub use stream_table::StreamTable;
