//! DECODE.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::charset::Charsets;
use crate::scalar::arguments::{Text, array, is_bytes, is_text};
use crate::scalar::plain::Plain;
use crate::scalar::text_rows::write_rows;

/// `DECODE(bytes, charset)`: the text that bytes are in US-ASCII, ISO-8859-1, UTF-8, UTF-16BE, UTF-16LE or UTF-16.
pub(super) fn decode() -> ScalarUDF {
    Plain::new("decode", "DECODE(<BINARY>, <CHARACTER>)", types, evaluate).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [bytes, charset] if (is_bytes(bytes) || bytes.is_null()) && is_text(charset) => {
            Some((vec![DataType::Binary, DataType::Utf8], DataType::Utf8))
        }
        _ => None,
    }
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let bytes = cast(&array(args, 0)?, &DataType::Binary)?;
    let bytes = bytes.as_binary::<i32>();
    let charsets = Text::new(args, 1)?;
    let mut known = Charsets::default();
    write_rows(args.number_rows, bytes.value_data().len(), |row, text| {
        let (true, Some(charset)) = (bytes.is_valid(row), charsets.get(row)) else { return Ok(None) };
        known.get(charset)?.decode(bytes.value(row), text);
        Ok(Some(()))
    })
}
