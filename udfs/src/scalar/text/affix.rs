//! What STARTSWITH and ENDSWITH share.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::ScalarFunctionArgs;

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
    let (texts, parts) =
        (cast(&array(args, 0)?, &DataType::Binary)?, cast(&array(args, 1)?, &DataType::Binary)?);
    let rows = texts.as_binary::<i32>().iter().zip(parts.as_binary::<i32>());
    Ok(Arc::new(rows.map(|(text, part)| Some(compare(text?, part?))).collect::<BooleanArray>()))
}
