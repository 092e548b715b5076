//! TO_BASE64 and FROM_BASE64.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use datafusion_common::{Result, exec_datafusion_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::arguments::{array, is_text, strings};
use super::plain::{Nullable, Plain};

/// Java's decoder: the padding may be left out, and bits behind the last byte are ignored.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// `TO_BASE64(x)`: the bytes of a text or BYTES.
pub(super) fn to_base64() -> ScalarUDF {
    Plain::new("to_base64", "TO_BASE64(<CHARACTER>)", to_types, encode).udf()
}

/// `FROM_BASE64(text)`: the text whose UTF-8 bytes these are; an error if it is no Base64.
pub(super) fn from_base64() -> ScalarUDF {
    Plain::new("from_base64", "FROM_BASE64(<CHARACTER>)", from_types, decode).nullable(Nullable::Always).udf()
}

fn to_types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [bytes @ DataType::Binary] => Some((vec![bytes.clone()], DataType::Utf8)),
        [text] if is_text(text) => Some((vec![DataType::Utf8], DataType::Utf8)),
        _ => None,
    }
}

fn from_types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [text] if is_text(text) => Some((vec![DataType::Utf8], DataType::Utf8)),
        _ => None,
    }
}

fn encode(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let bytes = cast(&array(args, 0)?, &DataType::Binary)?;
    let bytes = bytes.as_binary::<i32>();
    let mut result = StringBuilder::with_capacity(args.number_rows, bytes.value_data().len() * 4 / 3 + 4);
    let mut text = String::new();
    for bytes in bytes {
        let Some(bytes) = bytes else {
            result.append_null();
            continue;
        };
        text.clear();
        ENGINE.encode_string(bytes, &mut text);
        result.append_value(&text);
    }
    Ok(Arc::new(result.finish()))
}

fn decode(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let texts = strings(args, 0)?;
    let mut result = StringBuilder::with_capacity(texts.len(), texts.value_data().len());
    let mut bytes = vec![];
    for text in &texts {
        let Some(text) = text else {
            result.append_null();
            continue;
        };
        bytes.clear();
        ENGINE
            .decode_vec(text, &mut bytes)
            .map_err(|error| exec_datafusion_err!("FROM_BASE64 cannot read '{text}': {error}"))?;
        result.append_value(String::from_utf8_lossy(&bytes));
    }
    Ok(Arc::new(result.finish()))
}
