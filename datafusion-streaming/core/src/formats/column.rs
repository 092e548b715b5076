//! Columns under construction: each takes values as a format's text has them and builds a typed array.

use arrow::array::{ArrayRef, NullBufferBuilder};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::error::ArrowError;

use super::Malformed;

/// A value as a text format tells it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    /// A literal `true` or `false`.
    Boolean(bool),
    /// The digits of a number literal.
    Number(&'a str),
    /// A string, without its quotes and escapes.
    Text(&'a str),
    /// The JSON text of an array or an object.
    Nested(&'a str),
}

impl<'a> Value<'a> {
    /// The text of a scalar.
    pub(super) fn text(self, sql_type: &str) -> Result<&'a str, Malformed> {
        match self {
            Value::Boolean(true) => Ok("true"),
            Value::Boolean(false) => Ok("false"),
            Value::Number(text) | Value::Text(text) => Ok(text),
            Value::Nested(text) => Err(Malformed::new(format!("{} is not a {sql_type}", abridged(text)))),
        }
    }

    /// The text of an array (which `opening` bracket tells) or an object.
    pub(super) fn nested(self, opening: char, what: &str) -> Result<&'a str, Malformed> {
        let text = match self {
            Value::Nested(text) if text.starts_with(opening) => return Ok(text),
            Value::Nested(text) => text,
            scalar => scalar.text(what)?,
        };
        Err(Malformed::new(format!("{} is not {what}", abridged(text))))
    }
}

/// A text short enough for an error message.
pub(super) fn abridged(text: &str) -> String {
    const LIMIT: usize = 100;
    match text.char_indices().nth(LIMIT) {
        None => text.to_string(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// What became of a value that a column was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// It is the column's last value now.
    Value,
    /// It counts as NULL, as a number too big for its DECIMAL does in Flink; nothing was appended.
    Null,
    /// Within it a NULL breaks a NOT NULL; a placeholder was appended, and the row must be dropped.
    Unfit,
}

/// A column under construction.
pub(super) trait Column: Send {
    /// Takes a value. After an error the column is as it was, unless [`FieldColumn::put`] tells otherwise.
    fn append(&mut self, value: Value<'_>) -> Result<Fit, Malformed>;

    /// Appends NULL.
    fn append_null(&mut self);

    /// Appends any value that is not NULL, for a row that will be dropped.
    fn append_placeholder(&mut self);

    /// The values so far; the column is empty afterwards.
    fn finish(&mut self) -> Result<ArrayRef, ArrowError>;

    /// The number of fields within it that could not be read and became NULL.
    fn ignored(&self) -> u64 {
        0
    }
}

/// A column with the field it is for: the columns of a row, the parts of a nested type.
pub(super) struct FieldColumn {
    /// What messages call it: `column 'v'`.
    label: String,
    nullable: bool,
    /// Whether what cannot be read is NULL.
    lenient: bool,
    ignored: u64,
    column: Box<dyn Column>,
}

impl FieldColumn {
    pub(super) fn new(label: String, nullable: bool, lenient: bool, column: Box<dyn Column>) -> Self {
        FieldColumn { label, nullable, lenient, ignored: 0, column }
    }

    /// Appends one value: what `append` puts into the column, or NULL where there is nothing to append.
    ///
    /// Where the column is lenient, no error is given: what cannot be read is NULL, and a NULL that must
    /// not be is [`Fit::Unfit`]. Otherwise the first error is the end of it, and nested columns may then
    /// have parts of different lengths.
    #[inline]
    pub(super) fn put(
        &mut self,
        append: Option<impl FnOnce(&mut dyn Column) -> Result<Fit, Malformed>>,
    ) -> Result<Fit, Malformed> {
        let fit = match append.map(|append| append(self.column.as_mut())) {
            None => Fit::Null,
            Some(Ok(fit)) => fit,
            Some(Err(_)) if self.lenient => {
                self.ignored += 1;
                Fit::Null
            }
            Some(Err(error)) => return Err(error.within(&self.label)),
        };
        match fit {
            Fit::Null if self.nullable => self.column.append_null(),
            Fit::Null if self.lenient => {
                self.column.append_placeholder();
                return Ok(Fit::Unfit);
            }
            Fit::Null => return Err(Malformed::new("NULL in a place that is NOT NULL").within(&self.label)),
            Fit::Value | Fit::Unfit => {}
        }
        Ok(fit)
    }

    /// Appends NULL whatever the field says: for the parts of a nested value that is itself NULL.
    pub(super) fn put_null(&mut self) {
        self.column.append_null();
    }

    /// Appends a placeholder.
    pub(super) fn put_placeholder(&mut self) {
        self.column.append_placeholder();
    }

    pub(super) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        self.column.finish()
    }

    pub(super) fn ignored(&self) -> u64 {
        self.ignored + self.column.ignored()
    }
}

/// Where the lists of a column end, and which of them are NULL.
pub(super) struct Offsets {
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

impl Default for Offsets {
    fn default() -> Self {
        Offsets { offsets: vec![0], nulls: NullBufferBuilder::new(0) }
    }
}

impl Offsets {
    fn end(&self) -> i32 {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// A list of so many elements, which are in the column of elements already.
    pub(super) fn append(&mut self, len: usize) -> Result<(), Malformed> {
        let end = i32::try_from(len).ok().and_then(|len| self.end().checked_add(len));
        let end =
            end.ok_or_else(|| Malformed::new("too many elements for one batch; make its rows fewer"))?;
        self.offsets.push(end);
        self.nulls.append_non_null();
        Ok(())
    }

    /// A list without elements, or NULL.
    pub(super) fn append_empty(&mut self, valid: bool) {
        self.offsets.push(self.end());
        self.nulls.append(valid);
    }

    /// What the array of lists is made of; the next one begins.
    pub(super) fn finish(&mut self) -> (OffsetBuffer<i32>, Option<NullBuffer>) {
        let Offsets { offsets, mut nulls } = std::mem::take(self);
        (OffsetBuffer::new(offsets.into()), nulls.finish())
    }
}
