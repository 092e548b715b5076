//! FROM_BASE64.

use arrow::array::{Array, ArrayRef, StringArray};
use arrow::array::{AsArray, NullBufferBuilder};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use base64::Engine;
use datafusion_common::{Result, exec_datafusion_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};
use std::sync::Arc;

use super::base64_engine::ENGINE;
use crate::scalar::arguments::{array, is_bytes, is_text};
use crate::scalar::plain::{Nullable, Plain};

/// `FROM_BASE64(text)`: the text whose UTF-8 bytes these are; an error if it is no Base64. Bytes that are no UTF-8 become
/// replacement characters.
pub(super) fn from_base64() -> ScalarUDF {
    Plain::new("from_base64", "FROM_BASE64(<CHARACTER>)", types, evaluate).nullable(Nullable::Always).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [text] if is_text(text) => Some((vec![DataType::Utf8], DataType::Utf8)),
        [bytes] if is_bytes(bytes) => Some((vec![DataType::Binary], DataType::Utf8)),
        _ => None,
    }
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let input = cast(&array(args, 0)?, &DataType::Binary)?;
    let input = input.as_binary::<i32>();
    let mut bytes: Vec<u8> = Vec::with_capacity(input.value_data().len() / 4 * 3 + 3);
    let mut offsets = Vec::with_capacity(input.len() + 1);
    offsets.push(0);
    let mut nulls = NullBufferBuilder::new(input.len());
    let mut valid = true;
    for encoded in input {
        nulls.append(encoded.is_some());
        if let Some(encoded) = encoded {
            let start = bytes.len();
            ENGINE.decode_vec(encoded, &mut bytes).map_err(|error| {
                let text = String::from_utf8_lossy(encoded);
                exec_datafusion_err!("FROM_BASE64 cannot read '{text}': {error}")
            })?;
            valid &= std::str::from_utf8(&bytes[start..]).is_ok();
        }
        // decoding makes texts shorter, so they fit as before
        offsets.push(bytes.len() as i32);
    }
    let nulls = nulls.finish();
    if !valid {
        let row =
            |row: usize| String::from_utf8_lossy(&bytes[offsets[row] as usize..offsets[row + 1] as usize]);
        let texts = (0..input.len()).map(|at| input.is_valid(at).then(|| row(at)));
        return Ok(Arc::new(texts.collect::<StringArray>()));
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Ok(Arc::new(StringArray::try_new(offsets, Buffer::from_vec(bytes), nulls)?))
}
