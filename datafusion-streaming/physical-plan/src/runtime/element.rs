//! What flows between operators.

use std::pin::Pin;

use datafusion_common::Result;
use futures::Stream;

use crate::changelog::ChangelogBatch;
use crate::time::Watermark;

/// The number of a checkpoint; barriers of the same checkpoint have the same number, later ones
/// have larger ones.
pub type BarrierId = u64;

/// An element of a stream. Elements keep their order: a watermark or barrier never overtakes a row.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamElement {
    /// Rows.
    Data(ChangelogBatch),
    /// Event time has come this far.
    Watermark(Watermark),
    /// What came before belongs to the checkpoint, what comes after does not.
    Barrier(BarrierId),
    /// The stream has no rows for now: others need not wait for its watermark. Ends with the next
    /// row or watermark.
    Idle,
}

/// A stream of elements.
pub type ElementStream = Pin<Box<dyn Stream<Item = Result<StreamElement>> + Send>>;
