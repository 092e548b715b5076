//! Strings in and out of aggregates.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, LargeStringArray, StringArray, StringViewArray};
use arrow::buffer::{Buffer, OffsetBuffer};
use arrow::datatypes::DataType;
use datafusion_common::{DataFusionError, Result, internal_err, resources_datafusion_err};

use super::column::NullMask;

/// Whether a type is one of Arrow's string types.
pub(super) fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// A batch of strings of any of Arrow's string types.
#[derive(Debug)]
pub(super) enum TextValues {
    Utf8(StringArray),
    LargeUtf8(LargeStringArray),
    Utf8View(StringViewArray),
}

impl TextValues {
    pub(super) fn new(array: &ArrayRef) -> Result<Self> {
        match array.data_type() {
            DataType::Utf8 => Ok(Self::Utf8(array.as_string().clone())),
            DataType::LargeUtf8 => Ok(Self::LargeUtf8(array.as_string().clone())),
            DataType::Utf8View => Ok(Self::Utf8View(array.as_string_view().clone())),
            other => internal_err!("{other} is no STRING array"),
        }
    }

    /// The string of a row; any where the array is NULL.
    #[inline]
    pub(super) fn get(&self, row: usize) -> &str {
        match self {
            Self::Utf8(array) => array.value(row),
            Self::LargeUtf8(array) => array.value(row),
            Self::Utf8View(array) => array.value(row),
        }
    }
}

/// Strings on their way into an array.
#[derive(Debug)]
pub(super) struct TextOutput {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    nulls: NullMask,
}

impl TextOutput {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self { bytes: Vec::new(), ends: Vec::with_capacity(capacity), nulls: NullMask::new(capacity) }
    }

    #[inline]
    pub(super) fn push(&mut self, value: Option<&str>) {
        match value {
            Some(value) => self.append(value),
            None => self.nulls.set_null(self.ends.len()),
        }
        self.end();
    }

    /// Appends a part of the next string, which [`TextOutput::end`] ends.
    #[inline]
    pub(super) fn append(&mut self, part: &str) {
        self.bytes.extend_from_slice(part.as_bytes());
    }

    /// Ends a string.
    #[inline]
    pub(super) fn end(&mut self) {
        self.ends.push(self.bytes.len());
    }

    /// An array of one of the string types. An error where the strings of a batch take more than 2 GiB
    /// and the type is not LargeUtf8.
    pub(super) fn finish(self, data_type: &DataType) -> Result<ArrayRef> {
        let nulls = self.nulls.finish(self.ends.len());
        let (ends, bytes) = (self.ends, Buffer::from_vec(self.bytes));
        if *data_type == DataType::LargeUtf8 {
            let offsets = std::iter::once(0).chain(ends.iter().map(|&end| end as i64)).collect::<Vec<_>>();
            return Ok(Arc::new(LargeStringArray::try_new(OffsetBuffer::new(offsets.into()), bytes, nulls)?));
        }
        if i32::try_from(bytes.len()).is_err() {
            return Err(too_large("the strings of an aggregate", bytes.len(), "bytes"));
        }
        let offsets = std::iter::once(0).chain(ends.iter().map(|&end| end as i32)).collect::<Vec<_>>();
        let array = StringArray::try_new(OffsetBuffer::new(offsets.into()), bytes, nulls)?;
        Ok(match data_type {
            DataType::Utf8View => Arc::new(StringViewArray::from(&array)),
            _ => Arc::new(array),
        })
    }
}

/// The error of a batch of results that Arrow's 32-bit offsets cannot address.
pub(super) fn too_large(what: &str, size: usize, unit: &str) -> DataFusionError {
    resources_datafusion_err!(
        "{what} take {size} {unit} in one batch, and 2^31 is the limit. Use smaller batches"
    )
}
