//! Changelogs: what flows between streaming operators.
//!
//! - [`RowKind`], [`RowKinds`]: how a row changes the table that the stream describes;
//! - [`ChangelogBatch`]: a `RecordBatch` with the kinds of its rows beside it;
//! - [`ChangelogMode`]: which kinds a stream may contain, known at planning time;
//! - [`pretty`]: changelogs as text, for tests and for people.

mod batch;
mod kind;
mod mode;
pub mod pretty;

pub use batch::ChangelogBatch;
pub use kind::{RowKind, RowKinds};
pub use mode::ChangelogMode;
