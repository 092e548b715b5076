//! A changelog of rows of a batch and of rows that an operator keeps.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::interleave;
use arrow::datatypes::SchemaRef;
use datafusion_common::Result;

use crate::changelog::{ChangelogBatch, RowKind};

/// The rows that a batch makes an operator emit, as numbers: the columns are built at the end, all at
/// once.
#[derive(Debug, Default)]
pub(super) struct MixedRows {
    /// Pairs of the source, [`INCOMING`] or [`STORED`], and the place in it.
    places: Vec<(usize, usize)>,
    stored: Vec<u32>,
    kinds: Vec<RowKind>,
}

const INCOMING: usize = 0;
const STORED: usize = 1;

impl MixedRows {
    /// A row of the batch.
    #[inline]
    pub(super) fn incoming(&mut self, row: usize, kind: RowKind) {
        self.places.push((INCOMING, row));
        self.kinds.push(kind);
    }

    /// A row that is kept, by its id.
    #[inline]
    pub(super) fn stored(&mut self, id: u32, kind: RowKind) {
        self.places.push((STORED, self.stored.len()));
        self.stored.push(id);
        self.kinds.push(kind);
    }

    /// The changelog, if there is any, over the columns of the batch; `columns_of` gives those of kept rows.
    pub(super) fn finish(
        self,
        batch: &[ArrayRef],
        columns_of: impl FnOnce(&[u32]) -> Result<Vec<ArrayRef>>,
        schema: &SchemaRef,
    ) -> Result<Option<ChangelogBatch>> {
        if self.kinds.is_empty() {
            return Ok(None);
        }
        let stored = if self.stored.is_empty() { vec![] } else { columns_of(&self.stored)? };
        let column = |(place, incoming): (usize, &ArrayRef)| match stored.get(place) {
            Some(stored) => Ok(interleave(&[incoming.as_ref(), stored.as_ref()], &self.places)?),
            None => Ok(interleave(&[incoming.as_ref()], &self.places)?),
        };
        let columns = batch.iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.kinds.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?;
        ChangelogBatch::try_new(batch, self.kinds.into()).map(Some)
    }
}
