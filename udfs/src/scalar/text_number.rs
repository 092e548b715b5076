//! Numbers as Java's text.

use std::fmt::{LowerExp, Write};
use std::str::FromStr;

use crate::floats::{EXACT_FLOATS, java_digits, push_plain};

/// Appends a DOUBLE as Java's `Double.toString` does: `1.0`, `1.0E7`, `NaN`, `-Infinity`.
pub(super) fn write_f64(value: f64, text: &mut String) {
    let magnitude = value.abs();
    let plain = magnitude == 0.0 || (1e-3..1e7).contains(&magnitude);
    if value.is_nan() || value.is_infinite() || plain {
        return write_simple(
            value.is_nan(),
            value.is_infinite(),
            value < 0.0,
            format_args!("{value:?}"),
            text,
        );
    }
    write_scientific(value, text);
}

/// Appends a FLOAT as Java's `Float.toString` does.
pub(super) fn write_f32(value: f32, text: &mut String) {
    let magnitude = value.abs();
    let plain = magnitude == 0.0 || (1e-3..1e7).contains(&magnitude);
    if plain && f64::from(magnitude) >= EXACT_FLOATS {
        let start = text.len();
        push_plain(&java_digits(value), text);
        if !text[start..].contains('.') {
            text.push_str(".0");
        }
        return;
    }
    if value.is_nan() || value.is_infinite() || plain {
        return write_simple(
            value.is_nan(),
            value.is_infinite(),
            value < 0.0,
            format_args!("{value:?}"),
            text,
        );
    }
    write_scientific(value, text);
}

fn write_simple(
    nan: bool,
    infinite: bool,
    negative: bool,
    plain: std::fmt::Arguments<'_>,
    text: &mut String,
) {
    // writing to a String cannot fail
    let _ = match (nan, infinite, negative) {
        (true, _, _) => text.write_str("NaN"),
        (_, true, true) => text.write_str("-Infinity"),
        (_, true, false) => text.write_str("Infinity"),
        _ => text.write_fmt(plain),
    };
}

/// `1e7` as `1.0E7`.
fn write_scientific<T: LowerExp + FromStr + PartialEq + Copy>(value: T, text: &mut String) {
    let digits = java_digits(value);
    let (mantissa, exponent) = digits.split_once('e').unwrap_or((&digits, "0"));
    let point = if mantissa.contains('.') { "" } else { ".0" };
    // writing to a String cannot fail
    let _ = write!(text, "{mantissa}{point}E{exponent}");
}

/// What Java's `Double.parseDouble` takes, spaces around already cut; hexadecimal forms are not taken.
pub(super) fn parse_f64(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    match unsigned {
        "NaN" => return Some(f64::NAN),
        "Infinity" => return Some(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY }),
        _ => {}
    }
    let digits = unsigned.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(unsigned);
    let numeric =
        digits.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    if !numeric || !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let value: f64 = digits.parse().ok()?;
    Some(if text.starts_with('-') { -value } else { value })
}

/// The unscaled value of a decimal text as a DECIMAL(precision, scale), rounded half up; `None` if
/// the text is no number or has too many digits. The exponent costs no memory.
pub(super) fn parse_decimal(text: &str, precision: u8, scale: i8) -> Option<i128> {
    let negative = text.starts_with('-');
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    if !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // how many of the digits stand before the end of the scale
    let kept = (whole.len() as i64).saturating_add(exponent).saturating_add(i64::from(scale));
    let digits = whole.bytes().chain(fraction.bytes());
    let mut value: i128 = 0;
    let mut count = 0_i64;
    for digit in digits {
        let digit = i128::from(digit - b'0');
        if count < kept {
            value = value.checked_mul(10)?.checked_add(digit)?;
        } else if count == kept && kept >= 0 && digit >= 5 {
            value = value.checked_add(1)?;
        }
        count += 1;
    }
    while count < kept && value != 0 {
        value = value.checked_mul(10)?;
        count += 1;
    }
    let value = if negative { -value } else { value };
    crate::decimal::fits(value, precision).then_some(value)
}
