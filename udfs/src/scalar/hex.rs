//! HEX.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::arguments::{array, is_text, strings};
use super::plain::{Plain, is_integer};

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
    let mut buffer = String::new();
    let input = array(args, 0)?;
    if is_text(input.data_type()) {
        let texts = strings(args, 0)?;
        let mut result = StringBuilder::with_capacity(texts.len(), 2 * texts.value_data().len());
        for text in &texts {
            let Some(text) = text else {
                result.append_null();
                continue;
            };
            buffer.clear();
            for byte in text.bytes() {
                buffer.push(char::from(DIGITS[usize::from(byte >> 4)]));
                buffer.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
            result.append_value(&buffer);
        }
        return Ok(Arc::new(result.finish()));
    }
    let numbers = cast(&input, &DataType::Int64)?;
    let mut result = StringBuilder::with_capacity(numbers.len(), 8 * numbers.len());
    for number in numbers.as_primitive::<Int64Type>() {
        let Some(number) = number else {
            result.append_null();
            continue;
        };
        buffer.clear();
        let digits = 16 - (number as u64 | 1).leading_zeros() / 4;
        for digit in (0..digits).rev() {
            buffer.push(char::from(DIGITS[(number as u64 >> (4 * digit) & 15) as usize]));
        }
        result.append_value(&buffer);
    }
    Ok(Arc::new(result.finish()))
}
