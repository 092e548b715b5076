//! ENCODE.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryBuilder};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::charset::Charsets;
use crate::scalar::arguments::{Text, texts_and_ints};
use crate::scalar::plain::Plain;

/// `ENCODE(text, charset)`: the bytes of a text in US-ASCII, ISO-8859-1, UTF-8, UTF-16BE, UTF-16LE or UTF-16.
pub(super) fn encode() -> ScalarUDF {
    let form = "ENCODE(<CHARACTER>, <CHARACTER>)";
    Plain::new("encode", form, |args| Some((texts_and_ints(args, "tt")?, DataType::Binary)), evaluate).udf()
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (texts, charsets) = (Text::new(args, 0)?, Text::new(args, 1)?);
    let mut known = Charsets::default();
    let mut result = BinaryBuilder::with_capacity(args.number_rows, texts.bytes(args.number_rows));
    let mut bytes = vec![];
    for row in 0..args.number_rows {
        let (Some(text), Some(charset)) = (texts.get(row), charsets.get(row)) else {
            result.append_null();
            continue;
        };
        bytes.clear();
        known.get(charset)?.encode(text, &mut bytes);
        result.append_value(&bytes);
    }
    Ok(Arc::new(result.finish()))
}
