//! A changelog that is made of rows an operator keeps.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::SchemaRef;
use datafusion_common::Result;

use crate::changelog::{ChangelogBatch, RowKind};
use crate::state::{Place, RowStore};

/// The rows that a batch makes an operator emit, by their places: the columns are built at the end, all
/// at once.
#[derive(Debug, Default)]
pub(super) struct RowChanges {
    places: Vec<Place>,
    kinds: Vec<RowKind>,
    /// The rank of each row, where it is a column of the output.
    ranks: Vec<i64>,
}

impl RowChanges {
    #[inline]
    pub(super) fn push(&mut self, kind: RowKind, place: Place) {
        self.kinds.push(kind);
        self.places.push(place);
    }

    #[inline]
    pub(super) fn push_ranked(&mut self, kind: RowKind, place: Place, rank: usize) {
        self.push(kind, place);
        self.ranks.push(rank as i64);
    }

    /// The changelog, if there is any; with ranks, their column is the last of `schema`.
    pub(super) fn finish(self, store: &RowStore, schema: &SchemaRef) -> Result<Option<ChangelogBatch>> {
        if self.places.is_empty() {
            return Ok(None);
        }
        let rows = self.places.len();
        let mut columns = store.gather(&self.places)?;
        if columns.len() < schema.fields().len() {
            let ranks: ArrayRef = Arc::new(Int64Array::from(self.ranks));
            columns.push(cast(&ranks, schema.field(columns.len()).data_type())?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?;
        ChangelogBatch::try_new(batch, self.kinds.into()).map(Some)
    }
}
