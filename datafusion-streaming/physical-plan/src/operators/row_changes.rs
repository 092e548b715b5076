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
    updates: Vec<Update>,
}

/// An update that may change nothing.
#[derive(Debug, Clone, Copy)]
struct Update {
    /// Its first change: the `-U`, if that is there, else the `+U`.
    first: usize,
    /// The row before; that behind is the place of its `+U`.
    before: Place,
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

    /// An update of one row to another; the `-U` is put out if it is needed.
    #[inline]
    pub(super) fn push_update(&mut self, before: Place, after: Place, update_before: bool) {
        if update_before {
            self.push(RowKind::UpdateBefore, before);
        }
        self.push(RowKind::UpdateAfter, after);
    }

    /// The same, unless [`RowChanges::without_repetitions`] finds the rows equal.
    #[inline]
    pub(super) fn push_update_unless_equal(&mut self, before: Place, after: Place, update_before: bool) {
        self.updates.push(Update { first: self.kinds.len(), before });
        self.push_update(before, after, update_before);
    }

    /// Leaves out the updates, of those that may be, of a row to one that is equal in the columns `compared`.
    /// They are all looked at together, column by column.
    pub(super) fn without_repetitions(mut self, store: &RowStore, compared: &[usize]) -> Self {
        if self.updates.is_empty() {
            return self;
        }
        let changes = |update: &Update| match self.kinds[update.first] {
            RowKind::UpdateBefore => update.first..update.first + 2,
            _ => update.first..update.first + 1,
        };
        let after = |update: &Update| self.places[changes(update).end - 1];
        let pairs: Vec<_> = self.updates.iter().map(|update| (update.before, after(update))).collect();
        let equal = store.equal_pairs(&pairs, compared);
        if !equal.contains(&true) {
            return self;
        }
        let mut kept = vec![true; self.kinds.len()];
        for (update, _) in self.updates.iter().zip(equal).filter(|(_, equal)| *equal) {
            kept[changes(update)].fill(false);
        }
        let (mut places, mut kinds) = (kept.iter(), kept.iter());
        self.places.retain(|_| places.next() != Some(&false));
        self.kinds.retain(|_| kinds.next() != Some(&false));
        self
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
