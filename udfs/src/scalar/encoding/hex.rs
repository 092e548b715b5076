//! HEX.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use crate::scalar::arguments::{Integer, Text, is_text};
use crate::scalar::plain::{Plain, is_integer};
use crate::scalar::text_rows::write_rows;

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// `HEX(x)`: an integer in two's complement of 64 bits without leading zeros, or the bytes of a text.
pub(super) fn hex() -> ScalarUDF {
    Plain::new("hex", "HEX(<INTEGER>)", types, evaluate).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [number] if is_integer(number) => Some((vec![DataType::Int64], DataType::Utf8)),
        [text] if is_text(text) => Some((vec![DataType::Utf8], DataType::Utf8)),
        _ => None,
    }
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let digit = |value: u8| char::from(DIGITS[usize::from(value & 15)]);
    if is_text(args.arg_fields[0].data_type()) {
        let texts = Text::new(args, 0)?;
        return write_rows(args.number_rows, 2 * texts.bytes(args.number_rows), |row, result| {
            Ok(texts
                .get(row)
                .map(|text| result.extend(text.bytes().flat_map(|byte| [digit(byte >> 4), digit(byte)]))))
        });
    }
    let numbers = Integer::new(args, 0)?;
    write_rows(args.number_rows, 16 * args.number_rows, |row, result| {
        Ok(numbers.get(row).map(|number| {
            let digits = 16 - (number as u64 | 1).leading_zeros() / 4;
            result.extend((0..digits).rev().map(|place| digit((number >> (4 * place)) as u8)));
        }))
    })
}
