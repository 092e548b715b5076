//! The rows of a batch under construction: what is the same for every format.

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, RowKind};

use super::{Malformed, ParseErrors};

/// The kinds of the rows so far, and which of them must be dropped again.
pub(super) struct Rows {
    schema: SchemaRef,
    kinds: Vec<RowKind>,
    /// Rows, in order, that hold a placeholder where a NULL must not be.
    unfit: Vec<usize>,
    ignored_records: u64,
    lenient: bool,
}

impl Rows {
    /// With `lenient`, records that cannot be read are counted instead of being errors.
    pub(super) fn new(schema: SchemaRef, lenient: bool) -> Self {
        Rows { schema, kinds: vec![], unfit: vec![], ignored_records: 0, lenient }
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

    /// What the decoder gives for a record: where it is lenient, an error (that came before anything was
    /// appended) is only counted.
    pub(super) fn settle(&mut self, record: Result<(), Malformed>) -> Result<(), Malformed> {
        if record.is_err() && self.lenient {
            self.ignored_records += 1;
            return Ok(());
        }
        record
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
    pub(super) fn finish(&mut self, columns: Vec<ArrayRef>) -> datafusion::common::Result<ChangelogBatch> {
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
