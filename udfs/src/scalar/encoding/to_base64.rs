//! TO_BASE64.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use base64::Engine;
use datafusion_common::{Result, exec_datafusion_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::base64_engine::ENGINE;
use crate::scalar::arguments::{array, is_bytes, is_text};
use crate::scalar::plain::Plain;

/// `TO_BASE64(x)`: the bytes of a text or BYTES in Base64.
pub(super) fn to_base64() -> ScalarUDF {
    Plain::new("to_base64", "TO_BASE64(<CHARACTER>)", types, evaluate).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [bytes] if is_bytes(bytes) => Some((vec![DataType::Binary], DataType::Utf8)),
        [text] if is_text(text) => Some((vec![DataType::Utf8], DataType::Utf8)),
        _ => None,
    }
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let bytes = cast(&array(args, 0)?, &DataType::Binary)?;
    let bytes = bytes.as_binary::<i32>();
    // four characters for three bytes, so that all ends are known before
    let mut end = 0usize;
    let mut ends = Vec::with_capacity(bytes.len() + 1);
    ends.push(0);
    for row in 0..bytes.len() {
        end += if bytes.is_valid(row) { bytes.value_length(row) as usize } else { 0 }.div_ceil(3) * 4;
        ends.push(
            i32::try_from(end).map_err(|_| {
                exec_datafusion_err!("the texts of a batch exceed 2 GiB; use smaller batches")
            })?,
        );
    }
    let mut text = vec![0; end];
    let mut rest = text.as_mut_slice();
    for bytes in bytes.iter().flatten() {
        let written = ENGINE.encode_slice(bytes, rest).map_err(|error| exec_datafusion_err!("{error}"))?;
        rest = &mut rest[written..];
    }
    let (offsets, text) = (OffsetBuffer::new(ScalarBuffer::from(ends)), Buffer::from_vec(text));
    Ok(Arc::new(StringArray::try_new(offsets, text, bytes.nulls().cloned())?))
}
