//! A column of texts that functions write straight into.

use std::sync::Arc;

use arrow::array::{ArrayRef, NullBufferBuilder, StringArray};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use datafusion_common::{Result, exec_datafusion_err};

/// Builds a text column without a buffer per row: what is appended to [`TextRows::text`] is the text of the
/// row that [`TextRows::end`] ends.
pub(super) struct TextRows {
    text: String,
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

impl TextRows {
    /// With room for so many rows, and bytes in all of them.
    pub(super) fn with_capacity(rows: usize, bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Self { text: String::with_capacity(bytes), offsets, nulls: NullBufferBuilder::new(rows) }
    }

    /// The end of the column, to append to.
    pub(super) fn text(&mut self) -> &mut String {
        &mut self.text
    }

    /// Ends a row.
    pub(super) fn end(&mut self) -> Result<()> {
        let end = i32::try_from(self.text.len())
            .map_err(|_| exec_datafusion_err!("the texts of a batch exceed 2 GiB; use smaller batches"))?;
        self.offsets.push(end);
        self.nulls.append_non_null();
        Ok(())
    }

    /// Drops what was appended since the last row, and makes the row NULL.
    pub(super) fn null(&mut self) {
        let start = self.offsets.last().copied().unwrap_or(0);
        self.text.truncate(start as usize);
        self.offsets.push(start);
        self.nulls.append_null();
    }

    /// Appends a row.
    pub(super) fn push(&mut self, text: Option<&str>) -> Result<()> {
        match text {
            Some(text) => {
                self.text.push_str(text);
                self.end()
            }
            None => {
                self.null();
                Ok(())
            }
        }
    }

    /// The column.
    pub(super) fn finish(mut self) -> Result<ArrayRef> {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        let bytes = Buffer::from_vec(self.text.into_bytes());
        Ok(Arc::new(StringArray::try_new(offsets, bytes, self.nulls.finish())?))
    }
}

/// A column of so many rows, each made by `write`, which appends its text and says whether it is not NULL.
pub(super) fn write_rows(
    rows: usize,
    bytes: usize,
    mut write: impl FnMut(usize, &mut String) -> Result<Option<()>>,
) -> Result<ArrayRef> {
    let mut result = TextRows::with_capacity(rows, bytes);
    for row in 0..rows {
        match write(row, result.text())? {
            Some(()) => result.end()?,
            None => result.null(),
        }
    }
    result.finish()
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, AsArray};

    use super::*;

    #[test]
    fn rows_are_appended_or_dropped() {
        let mut rows = TextRows::with_capacity(4, 8);
        rows.text().push_str("é1");
        rows.end().unwrap();
        rows.text().push_str("dropped");
        rows.null();
        rows.push(Some("")).unwrap();
        rows.push(None).unwrap();
        let column = rows.finish().unwrap();
        let texts: Vec<_> = column.as_string::<i32>().iter().collect();
        assert_eq!(texts, [Some("é1"), None, Some(""), None]);
        assert_eq!(column.null_count(), 2);
    }
}
