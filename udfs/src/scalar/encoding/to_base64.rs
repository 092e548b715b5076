//! TO_BASE64.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use base64::Engine;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::base64_engine::ENGINE;
use crate::scalar::arguments::{array, is_bytes, is_text};
use crate::scalar::plain::Plain;
use crate::scalar::text_rows::TextRows;

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
    let capacity = bytes.value_data().len().div_ceil(3) * 4 + 4 * bytes.len();
    let mut result = TextRows::with_capacity(args.number_rows, capacity);
    for bytes in bytes {
        match bytes {
            Some(bytes) => {
                ENGINE.encode_string(bytes, result.text());
                result.end()?;
            }
            None => result.null(),
        }
    }
    result.finish()
}
