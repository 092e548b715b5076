//! A batch of changes.

use arrow::array::{Array, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::{concat_batches, filter_record_batch, take_record_batch};
use arrow::datatypes::SchemaRef;
use datafusion_common::{Result, internal_err};

use super::{RowKind, RowKinds};

/// A `RecordBatch` and, beside it, how each row changes the table.
///
/// The kinds are not a column: the batch has the schema of the logical plan, and no expression
/// index shifts. `kinds` is `None` where every row is `+I`, which is the common case and costs
/// nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangelogBatch {
    batch: RecordBatch,
    kinds: Option<RowKinds>,
}

impl ChangelogBatch {
    /// A batch whose rows are all `+I`.
    pub fn insert_only(batch: RecordBatch) -> Self {
        ChangelogBatch { batch, kinds: None }
    }

    /// A batch with a kind for each row; an error where the numbers differ. Kinds that are all
    /// `+I` are dropped.
    pub fn try_new(batch: RecordBatch, kinds: RowKinds) -> Result<Self> {
        if batch.num_rows() != kinds.len() {
            return internal_err!("a batch of {} rows came with {} row kinds", batch.num_rows(), kinds.len());
        }
        let kinds = (!kinds.is_insert_only()).then_some(kinds);
        Ok(ChangelogBatch { batch, kinds })
    }

    /// The rows.
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// The kinds of the rows; `None`: all are `+I`.
    pub fn kinds(&self) -> Option<&RowKinds> {
        self.kinds.as_ref()
    }

    /// The kind of a row.
    pub fn kind(&self, row: usize) -> RowKind {
        self.kinds.as_ref().map_or(RowKind::Insert, |kinds| kinds.get(row))
    }

    /// The number of rows.
    pub fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// The schema of the rows.
    pub fn schema(&self) -> SchemaRef {
        self.batch.schema()
    }

    /// The rows and their kinds, apart.
    pub fn into_parts(self) -> (RecordBatch, Option<RowKinds>) {
        (self.batch, self.kinds)
    }

    /// The same changes with other columns: for projections. `batch` has as many rows.
    pub fn with_batch(&self, batch: RecordBatch) -> Result<Self> {
        if batch.num_rows() != self.num_rows() {
            return internal_err!("a projection made {} rows of {}", batch.num_rows(), self.num_rows());
        }
        Ok(ChangelogBatch { batch, kinds: self.kinds.clone() })
    }

    /// `len` rows from `offset` on, without a copy.
    pub fn slice(&self, offset: usize, len: usize) -> Self {
        if offset == 0 && len == self.num_rows() {
            return self.clone();
        }
        ChangelogBatch {
            batch: self.batch.slice(offset, len),
            kinds: self.kinds.as_ref().map(|kinds| kinds.slice(offset, len)),
        }
    }

    /// The rows that `mask` keeps; NULL keeps nothing.
    pub fn filter(&self, mask: &BooleanArray) -> Result<Self> {
        if mask.null_count() == 0 && mask.true_count() == mask.len() {
            return Ok(self.clone());
        }
        Ok(ChangelogBatch {
            batch: filter_record_batch(&self.batch, mask)?,
            kinds: self.kinds.as_ref().map(|kinds| kinds.filter(mask)),
        })
    }

    /// The rows without `-U`; itself where there are none.
    pub fn without_update_before(self) -> Result<Self> {
        let Some(kinds) = &self.kinds else { return Ok(self) };
        if !kinds.iter().any(|kind| kind == RowKind::UpdateBefore) {
            return Ok(self);
        }
        self.filter(&kinds.iter().map(|kind| Some(kind != RowKind::UpdateBefore)).collect())
    }

    /// `rows`, in that order.
    pub fn take(&self, rows: &[u32]) -> Result<Self> {
        let indices = UInt32Array::from(rows.to_vec());
        Ok(ChangelogBatch {
            batch: take_record_batch(&self.batch, &indices)?,
            kinds: self.kinds.as_ref().map(|kinds| kinds.take(rows)),
        })
    }

    /// The batches as one. All have the schema given.
    pub fn concat(schema: &SchemaRef, batches: &[ChangelogBatch]) -> Result<Self> {
        let batch = concat_batches(schema, batches.iter().map(ChangelogBatch::batch))?;
        if batches.iter().all(|batch| batch.kinds.is_none()) {
            return Ok(ChangelogBatch::insert_only(batch));
        }
        let kinds =
            batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|row| batch.kind(row))).collect();
        ChangelogBatch::try_new(batch, kinds)
    }
}
