//! What STARTSWITH and ENDSWITH share.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs};

use crate::scalar::arguments::{array, is_bytes, is_text};

/// Two texts or two BYTES.
pub(super) fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [text, part] if is_text(text) && is_text(part) => Some((vec![DataType::Utf8; 2], DataType::Boolean)),
        [bytes, part] if [bytes, part].into_iter().all(|arg| is_bytes(arg) || arg.is_null()) => {
            Some((vec![DataType::Binary; 2], DataType::Boolean))
        }
        _ => None,
    }
}

/// Compares the bytes of the arguments: one UTF-8 text is part of another where its bytes are.
pub(super) fn compare(args: &ScalarFunctionArgs, compare: impl Fn(&[u8], &[u8]) -> bool) -> Result<ArrayRef> {
    let texts = cast(&array(args, 0)?, &DataType::Binary)?;
    let texts = texts.as_binary::<i32>();
    let rows = texts.len();
    if let Some(ColumnarValue::Scalar(part)) = args.args.get(1) {
        return Ok(Arc::new(match part.cast_to(&DataType::Binary)? {
            ScalarValue::Binary(Some(part)) => {
                let found = BooleanBuffer::collect_bool(rows, |row| compare(texts.value(row), &part));
                BooleanArray::new(found, texts.nulls().cloned())
            }
            _ => BooleanArray::new_null(rows),
        }));
    }
    let parts = cast(&array(args, 1)?, &DataType::Binary)?;
    let parts = parts.as_binary::<i32>();
    let found = BooleanBuffer::collect_bool(rows, |row| compare(texts.value(row), parts.value(row)));
    Ok(Arc::new(BooleanArray::new(found, NullBuffer::union(texts.nulls(), parts.nulls()))))
}
