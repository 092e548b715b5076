//! The rows of a batch under construction: what is the same for every format.

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, RowKind};

use super::ParseErrors;

/// The kinds of the rows so far, and which of them must be dropped again.
pub(super) struct Rows {
    schema: SchemaRef,
    kinds: Vec<RowKind>,
    /// Rows, in order, that hold a placeholder where a NULL must not be.
    unfit: Vec<usize>,
    ignored_records: u64,
}

impl Rows {
    pub(super) fn new(schema: SchemaRef) -> Self {
        Rows { schema, kinds: vec![], unfit: vec![], ignored_records: 0 }
    }

    /// A row has been appended to the columns.
    pub(super) fn push(&mut self, kind: RowKind) {
        self.kinds.push(kind);
    }

    /// The last `rows` rows, all of one record, must be dropped.
    pub(super) fn drop_last(&mut self, rows: usize) {
        let end = self.kinds.len();
        self.unfit.extend(end.saturating_sub(rows)..end);
        self.ignored_records += 1;
    }

    /// A record that could not be read and gave no rows.
    pub(super) fn ignore_record(&mut self) {
        self.ignored_records += 1;
    }

    /// The number of rows that [`Rows::finish`] will give.
    pub(super) fn len(&self) -> usize {
        self.kinds.len() - self.unfit.len()
    }

    /// What has been ignored, with the fields that the columns counted.
    pub(super) fn ignored(&self, fields: u64) -> ParseErrors {
        ParseErrors { records: self.ignored_records, fields }
    }

    /// The rows as a batch of the finished columns; the next batch begins.
    pub(super) fn finish(&mut self, columns: Vec<ArrayRef>) -> Result<ChangelogBatch> {
        let (kinds, unfit) = (std::mem::take(&mut self.kinds), std::mem::take(&mut self.unfit));
        let options = RecordBatchOptions::new().with_row_count(Some(kinds.len()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?;
        let rows = batch.num_rows();
        let changes = ChangelogBatch::try_new(batch, kinds.into())?;
        if unfit.is_empty() {
            return Ok(changes);
        }
        let mut fit = vec![true; rows];
        unfit.into_iter().for_each(|row| fit[row] = false);
        changes.filter(&BooleanArray::from(fit))
    }
}
