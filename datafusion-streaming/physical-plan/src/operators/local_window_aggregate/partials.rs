//! The layout of partial aggregates between the two phases.

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::Int64Type;

/// Where the parts of a partial aggregate are: the keys, the end of the slice, how many rows came where
/// that is another number than what follows, the rows less retractions, and the states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Partials {
    keys: usize,
    retracting: bool,
}

impl Partials {
    pub(super) fn new(keys: usize, retracting: bool) -> Self {
        Partials { keys, retracting }
    }

    /// The columns of the keys.
    pub(crate) fn keys(&self) -> Vec<usize> {
        (0..self.keys).collect()
    }

    /// The column with the end of the slice.
    pub(crate) fn end(&self) -> usize {
        self.keys
    }

    /// How many rows each is the aggregate of, retractions included.
    pub(crate) fn inputs<'a>(&self, partials: &'a RecordBatch) -> &'a [i64] {
        partials.column(self.keys + 1).as_primitive::<Int64Type>().values()
    }

    /// How many rows less retractions each is the aggregate of.
    pub(crate) fn rows<'a>(&self, partials: &'a RecordBatch) -> &'a [i64] {
        partials.column(self.rows_column()).as_primitive::<Int64Type>().values()
    }

    /// The states of the aggregates.
    pub(crate) fn states<'a>(&self, partials: &'a RecordBatch) -> &'a [ArrayRef] {
        partials.columns().get(self.rows_column() + 1..).unwrap_or_default()
    }

    fn rows_column(&self) -> usize {
        self.keys + 1 + usize::from(self.retracting)
    }
}
