//! IS_ALPHA, IS_DIGIT and IS_DECIMAL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::arguments::{array, is_text, strings};
use super::plain::{Nullable, Plain, is_number};
use super::text_number::parse_f64;

/// `IS_ALPHA(text)`: whether there are only letters, of any script. FALSE for NULL, the empty text and numbers.
pub(super) fn is_alpha() -> ScalarUDF {
    let evaluate =
        |args: &ScalarFunctionArgs| check(args, |text| text.chars().all(char::is_alphabetic), |_| false);
    Plain::new("is_alpha", "IS_ALPHA(<CHARACTER>)", types, evaluate).nullable(Nullable::Never).udf()
}

/// `IS_DIGIT(text)`: whether there are only decimal digits, of any script. TRUE for integers, even NULL.
pub(super) fn is_digit() -> ScalarUDF {
    let evaluate = |args: &ScalarFunctionArgs| {
        check(args, |text| text.chars().all(is_decimal_digit), DataType::is_signed_integer)
    };
    Plain::new("is_digit", "IS_DIGIT(<CHARACTER>)", types, evaluate).nullable(Nullable::Never).udf()
}

/// `IS_DECIMAL(text)`: whether Java reads it as a DOUBLE. TRUE for integers and floating numbers, even NULL,
/// and FALSE for DECIMAL.
pub(super) fn is_decimal() -> ScalarUDF {
    let evaluate = |args: &ScalarFunctionArgs| {
        let number = |text: &str| parse_f64(text.trim_matches(|c| c <= ' ')).is_some();
        check(args, number, |data_type| !matches!(data_type, DataType::Decimal128(_, _)))
    };
    Plain::new("is_decimal", "IS_DECIMAL(<CHARACTER>)", types, evaluate).nullable(Nullable::Never).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [text] if is_text(text) => Some((vec![DataType::Utf8], DataType::Boolean)),
        [number] if is_number(number) => Some((vec![number.clone()], DataType::Boolean)),
        _ => None,
    }
}

fn is_decimal_digit(c: char) -> bool {
    c.is_ascii_digit()
        || !c.is_ascii()
            && c.is_numeric()
            && DIGIT_ZEROS.iter().any(|&zero| (zero..zero + 10).contains(&u32::from(c)))
}

/// The zeros of the scripts of the basic plane, each followed by the other nine digits.
const DIGIT_ZEROS: [u32; 36] = [
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50, 0xED0,
    0xF20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50,
    0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
];

fn check(
    args: &ScalarFunctionArgs,
    text: impl Fn(&str) -> bool,
    number: impl Fn(&DataType) -> bool,
) -> Result<ArrayRef> {
    let input = array(args, 0)?;
    if !is_text(input.data_type()) {
        return Ok(Arc::new(BooleanArray::from(vec![number(input.data_type()); input.len()])));
    }
    let texts = strings(args, 0)?;
    let check = |value: Option<&str>| Some(value.is_some_and(|value| !value.is_empty() && text(value)));
    Ok(Arc::new(texts.iter().map(check).collect::<BooleanArray>()))
}
