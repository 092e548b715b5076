//! Columns of arrays that are put together of elements of others.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, NullBufferBuilder, new_empty_array};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::compute::interleave;
use arrow::datatypes::DataType;
use datafusion_common::{Result, exec_datafusion_err, internal_err};

/// A column of arrays whose elements are picked from other columns.
pub(super) struct ListRows {
    picked: Vec<(usize, usize)>,
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

impl ListRows {
    pub(super) fn with_capacity(rows: usize, elements: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Self { picked: Vec::with_capacity(elements), offsets, nulls: NullBufferBuilder::new(rows) }
    }

    /// Appends a value of a source to the current array.
    pub(super) fn pick(&mut self, source: usize, row: usize) {
        self.picked.push((source, row));
    }

    /// The elements of the current array.
    pub(super) fn current(&self) -> &[(usize, usize)] {
        &self.picked[self.offsets.last().copied().unwrap_or(0) as usize..]
    }

    /// Ends the array of a row.
    pub(super) fn end(&mut self) -> Result<()> {
        let end = i32::try_from(self.picked.len()).map_err(|_| {
            exec_datafusion_err!("the arrays of a batch have too many elements; use smaller batches")
        })?;
        self.offsets.push(end);
        self.nulls.append_non_null();
        Ok(())
    }

    /// A row without an array.
    pub(super) fn null(&mut self) {
        let start = self.offsets.last().copied().unwrap_or(0);
        self.picked.truncate(start as usize);
        self.offsets.push(start);
        self.nulls.append_null();
    }

    /// The column, of a type that is an array.
    pub(super) fn finish(mut self, data_type: &DataType, sources: &[&dyn Array]) -> Result<ArrayRef> {
        let DataType::List(field) = data_type else { return internal_err!("{data_type} is no array") };
        let values = match sources {
            [] => new_empty_array(field.data_type()),
            sources => interleave(sources, &self.picked)?,
        };
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, self.nulls.finish())?))
    }
}
