//! Casts to numbers and BOOLEAN.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, StringArray,
};
use arrow::compute::cast as convert;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type};
use datafusion_common::{Result, exec_err, internal_err};

use super::super::text_number::{parse_decimal, parse_f64};
use super::{Casting, arrow_cast, decimal_text};
use crate::decimal;
use crate::types::type_name;

/// Text as numbers and BOOLEAN.
pub(super) fn from_text(from: &ArrayRef, casting: &Casting<'_>) -> Result<ArrayRef> {
    let texts = convert(from, &DataType::Utf8)?;
    let texts = texts.as_string::<i32>();
    Ok(match casting.target {
        DataType::Int8 => {
            Arc::new(read(texts, casting, parse_integer::<i8>)?.collect::<Result<Int8Array>>()?)
        }
        DataType::Int16 => {
            Arc::new(read(texts, casting, parse_integer::<i16>)?.collect::<Result<Int16Array>>()?)
        }
        DataType::Int32 => {
            Arc::new(read(texts, casting, parse_integer::<i32>)?.collect::<Result<Int32Array>>()?)
        }
        DataType::Int64 => {
            Arc::new(read(texts, casting, parse_integer::<i64>)?.collect::<Result<Int64Array>>()?)
        }
        DataType::Float32 => Arc::new(
            read(texts, casting, |text| {
                parse_f64(java_trim(text)).map(|value| f32_of(java_trim(text), value))
            })?
            .collect::<Result<Float32Array>>()?,
        ),
        DataType::Float64 => Arc::new(
            read(texts, casting, |text| parse_f64(java_trim(text)))?.collect::<Result<Float64Array>>()?,
        ),
        DataType::Decimal128(precision, scale) => {
            let parse = |text: &str| decimal_text::parse(text, *precision, *scale);
            let values = read(texts, casting, parse)?.collect::<Result<Decimal128Array>>()?;
            Arc::new(values.with_precision_and_scale(*precision, *scale)?)
        }
        DataType::Boolean => Arc::new(read(texts, casting, parse_bool)?.collect::<Result<BooleanArray>>()?),
        other => return internal_err!("text as {other}"),
    })
}

/// A FLOAT is read from the text itself: reading a DOUBLE and narrowing it would round twice.
fn f32_of(text: &str, value: f64) -> f32 {
    text.trim_end_matches(['d', 'D', 'f', 'F']).parse().unwrap_or(value as f32)
}

fn read<'a, T>(
    texts: &'a StringArray,
    casting: &'a Casting<'a>,
    parse: impl Fn(&str) -> Option<T> + 'a,
) -> Result<impl Iterator<Item = Result<Option<T>>> + 'a> {
    Ok(texts.iter().map(move |text| {
        let Some(text) = text else { return Ok(None) };
        match parse(text) {
            Some(value) => Ok(Some(value)),
            None => casting.refuse(&text),
        }
    }))
}

/// Without the characters up to the space around, as Java's `trim`.
pub(super) fn java_trim(text: &str) -> &str {
    text.trim_matches(|c| c <= ' ')
}

/// An integer with an optional fraction of digits, which is cut off; only spaces around are cut.
fn parse_integer<T: TryFrom<i128>>(text: &str) -> Option<T> {
    let text = text.trim_matches(' ');
    let negative = text.starts_with('-');
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() {
        return None;
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut value = 0_i128;
    for digit in whole.bytes() {
        value = value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
    }
    T::try_from(if negative { -value } else { value }).ok()
}

fn parse_bool(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "t" | "true" | "y" | "yes" | "1" => Some(true),
        "f" | "false" | "n" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// Numbers and BOOLEAN as another of these types: integers wrap, fractions are cut off, floating numbers
/// saturate, DECIMALs round half up and are NULL when they do not fit.
pub(super) fn between(from: &ArrayRef, casting: &Casting<'_>) -> Result<ArrayRef> {
    let to = casting.target;
    match (from.data_type(), to) {
        (source, DataType::Boolean) => not_zero(from, source),
        (DataType::Boolean, DataType::Decimal128(precision, scale)) => {
            if i32::from(*precision) <= i32::from(*scale) && from.as_boolean().true_count() > 0 {
                return exec_err!("Cannot convert 1 to {} due to overflow", type_name(to));
            }
            from_integers(&convert(from, &DataType::Int64)?, casting)
        }
        (DataType::Boolean, _) => from_integers(&convert(from, &DataType::Int64)?, casting),
        (source, _) if source.is_signed_integer() => from_integers(from, casting),
        (DataType::Float32 | DataType::Float64, _) if to.is_signed_integer() => {
            let values = convert(from, &DataType::Float64)?;
            let values = values.as_primitive::<Float64Type>();
            // Java narrows through INT, where a floating number saturates
            Ok(match to {
                DataType::Int8 => Arc::new(values.unary::<_, arrow::datatypes::Int8Type>(|v| v as i32 as i8)),
                DataType::Int16 => {
                    Arc::new(values.unary::<_, arrow::datatypes::Int16Type>(|v| v as i32 as i16))
                }
                DataType::Int32 => Arc::new(values.unary::<_, arrow::datatypes::Int32Type>(|v| v as i32)),
                _ => Arc::new(values.unary::<_, Int64Type>(|v| v as i64)),
            })
        }
        (DataType::Float32 | DataType::Float64, DataType::Decimal128(precision, scale)) => {
            from_floats(from, *precision, *scale)
        }
        (DataType::Decimal128(_, scale), _) => from_decimals(from, *scale, casting),
        _ => arrow_cast(from, to, casting.lenient),
    }
}

fn not_zero(from: &ArrayRef, source: &DataType) -> Result<ArrayRef> {
    if let DataType::Decimal128(_, _) = source {
        let values = from.as_primitive::<Decimal128Type>();
        return Ok(Arc::new(
            values.iter().map(|value| value.map(|value| value != 0)).collect::<BooleanArray>(),
        ));
    }
    let values = convert(from, &DataType::Float64)?;
    Ok(Arc::new(
        values
            .as_primitive::<Float64Type>()
            .iter()
            .map(|value| value.map(|value| value != 0.0))
            .collect::<BooleanArray>(),
    ))
}

fn from_integers(from: &ArrayRef, casting: &Casting<'_>) -> Result<ArrayRef> {
    let values = convert(from, &DataType::Int64)?;
    let values = values.as_primitive::<Int64Type>();
    Ok(match casting.target {
        DataType::Int8 => Arc::new(values.unary::<_, arrow::datatypes::Int8Type>(|v| v as i8)),
        DataType::Int16 => Arc::new(values.unary::<_, arrow::datatypes::Int16Type>(|v| v as i16)),
        DataType::Int32 => Arc::new(values.unary::<_, arrow::datatypes::Int32Type>(|v| v as i32)),
        DataType::Decimal128(precision, scale) => {
            let factor = 10_i128.checked_pow(u32::from(scale.unsigned_abs()));
            let scaled = |value: i64| {
                let value = i128::from(value);
                let scaled =
                    if value == 0 { Some(0) } else { factor.and_then(|factor| value.checked_mul(factor)) };
                scaled.filter(|&value| decimal::fits(value, *precision))
            };
            let values: Decimal128Array = values.iter().map(|value| value.and_then(scaled)).collect();
            Arc::new(values.with_precision_and_scale(*precision, *scale)?)
        }
        other => arrow_cast(from, other, casting.lenient)?,
    })
}

fn from_floats(from: &ArrayRef, precision: u8, scale: i8) -> Result<ArrayRef> {
    let values = convert(from, &DataType::Float64)?;
    let mut text = String::new();
    let mut to_decimal = |value: f64| {
        if value.is_nan() || value.is_infinite() {
            return exec_err!("{value} is no DECIMAL");
        }
        text.clear();
        super::super::text_number::write_f64(value, &mut text);
        Ok(parse_decimal(&text, precision, scale))
    };
    let values: Decimal128Array = values
        .as_primitive::<Float64Type>()
        .iter()
        .map(|value| value.map_or(Ok(None), &mut to_decimal))
        .collect::<Result<_>>()?;
    Ok(Arc::new(values.with_precision_and_scale(precision, scale)?))
}

fn from_decimals(from: &ArrayRef, from_scale: i8, casting: &Casting<'_>) -> Result<ArrayRef> {
    let values = from.as_primitive::<Decimal128Type>();
    let scale = i32::from(from_scale);
    let factor = 10_i128.pow(u32::from(from_scale.unsigned_abs()));
    let whole = |value: i128| value / factor;
    Ok(match casting.target {
        DataType::Int8 => Arc::new(values.unary::<_, arrow::datatypes::Int8Type>(|v| whole(v) as i8)),
        DataType::Int16 => Arc::new(values.unary::<_, arrow::datatypes::Int16Type>(|v| whole(v) as i16)),
        DataType::Int32 => Arc::new(values.unary::<_, arrow::datatypes::Int32Type>(|v| whole(v) as i32)),
        DataType::Int64 => Arc::new(values.unary::<_, Int64Type>(|v| whole(v) as i64)),
        DataType::Decimal128(precision, to_scale) => {
            let shift = i32::from(*to_scale) - scale;
            let rescale = |value: i128| {
                decimal::divide(value, 1, shift).filter(|&value| decimal::fits(value, *precision))
            };
            let values: Decimal128Array = values.iter().map(|value| value.and_then(rescale)).collect();
            Arc::new(values.with_precision_and_scale(*precision, *to_scale)?)
        }
        DataType::Float32 => {
            let double = |value: i128| decimal::to_f64(value, u32::from(from_scale.unsigned_abs())) as f32;
            Arc::new(values.unary::<_, arrow::datatypes::Float32Type>(double))
        }
        _ => {
            let double = |value: i128| decimal::to_f64(value, u32::from(from_scale.unsigned_abs()));
            Arc::new(values.unary::<_, Float64Type>(double))
        }
    })
}
