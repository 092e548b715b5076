//! UNHEX.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BinaryBuilder};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use crate::scalar::arguments::{is_text, strings};
use crate::scalar::plain::{Nullable, Plain};

/// `UNHEX(text)`: the bytes of hexadecimal digits, NULL if there is anything else. Of an odd number of
/// digits the first becomes a zero byte, as in Flink.
pub(super) fn unhex() -> ScalarUDF {
    Plain::new("unhex", "UNHEX(<CHARACTER>)", types, evaluate).nullable(Nullable::Always).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [text] if is_text(text) => Some((vec![DataType::Utf8], DataType::Binary)),
        _ => None,
    }
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let texts = strings(args, 0)?;
    let mut result = BinaryBuilder::with_capacity(texts.len(), texts.value_data().len() / 2);
    let mut buffer = vec![];
    for text in &texts {
        buffer.clear();
        match text.and_then(|text| decode(text.as_bytes(), &mut buffer)) {
            Some(()) => result.append_value(&buffer),
            None => result.append_null(),
        }
    }
    Ok(Arc::new(result.finish()))
}

fn decode(text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (odd, pairs) = text.split_at(text.len() % 2);
    for &first in odd {
        digit(first)?;
        bytes.push(0);
    }
    for pair in pairs.chunks_exact(2) {
        bytes.push(digit(pair[0])? << 4 | digit(pair[1])?);
    }
    Some(())
}
