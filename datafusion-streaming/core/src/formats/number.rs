//! Numbers as text, by the rules of Java's `Integer.parseInt`, `Double.parseDouble` and `BigDecimal`.

use std::fmt::LowerExp;
use std::str::FromStr;

use datafusion_streaming_udfs::floats::java_digits;

use super::Malformed;

/// Java's `String.trim`: without the blanks and control characters at both ends.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c <= ' ')
}

/// A whole number: digits with an optional sign, in the range of `T`.
pub(super) fn parse_integer<T: FromStr>(text: &str, sql_type: &str) -> Result<T, Malformed> {
    text.parse().map_err(|_| {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            Malformed::new(format!("{text} is out of the range of {sql_type}"))
        } else {
            Malformed::new(format!("'{text}' is not a number of type {sql_type}"))
        }
    })
}

/// A floating point number: `1`, `-1.5e3`, `.5`, `1.`, also with Java's suffixes `d` and `f`, and
/// `NaN`, `Infinity`.
pub(super) fn parse_float<T: FromStr>(text: &str, sql_type: &str) -> Result<T, Malformed> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let number = match unsigned.as_bytes() {
        // Rust would read "inf" and "nan" in any case
        b"NaN" | b"Infinity" => Some(text),
        [b'0'..=b'9' | b'.', ..] => Some(text.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(text)),
        _ => None,
    };
    number
        .and_then(|number| number.parse().ok())
        .ok_or_else(|| Malformed::new(format!("'{text}' is not a number of type {sql_type}")))
}

/// A DECIMAL(`precision`, `scale`) as its unscaled value, rounded half up. `None` where it has more
/// digits before the point than the type: Flink makes that NULL.
pub(super) fn parse_decimal(text: &str, precision: u8, scale: i8) -> Result<Option<i128>, Malformed> {
    let malformed = || Malformed::new(format!("'{text}' is not a number of type DECIMAL"));
    let (negative, unsigned) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let (mantissa, exponent) = match unsigned.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        None => (unsigned, 0),
        Some(at) => {
            let exponent = std::str::from_utf8(&unsigned[at + 1..]).ok();
            (
                &unsigned[..at],
                exponent.and_then(|exponent| exponent.parse::<i32>().ok()).ok_or_else(malformed)?,
            )
        }
    };
    let point = mantissa.iter().position(|byte| *byte == b'.');
    let (whole, fraction) = match point {
        None => (mantissa, &[][..]),
        Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
    };
    let digits = || whole.iter().chain(fraction);
    if (whole.is_empty() && fraction.is_empty()) || !digits().all(u8::is_ascii_digit) {
        return Err(malformed());
    }

    // The unscaled value is the first `kept` of the digits, or all of them and zeros behind
    let leading_zeros = digits().take_while(|digit| **digit == b'0').count();
    let significant = whole.len() + fraction.len() - leading_zeros;
    if significant == 0 {
        return Ok(Some(0));
    }
    let kept = whole.len() as i64 - leading_zeros as i64 + i64::from(exponent) + i64::from(scale);
    if kept > i64::from(precision) {
        return Ok(None);
    }
    let mut significant_digits = digits().skip(leading_zeros).map(|digit| i128::from(digit - b'0'));
    let mut unscaled = 0_i128;
    for _ in 0..kept {
        unscaled = unscaled * 10 + significant_digits.next().unwrap_or(0);
    }
    if kept >= 0 && significant_digits.next().is_some_and(|digit| digit >= 5) {
        unscaled += 1;
    }
    let fits = unscaled < 10_i128.pow(u32::from(precision));
    Ok(fits.then_some(if negative { -unscaled } else { unscaled }))
}

/// Writes a floating point number as Java's `Double.toString` does: `0.001` to below `10000000.0` plainly,
/// others as `1.5E10`, always with a digit behind the point, and no more digits than tell it from others.
pub(super) fn write_float<T: LowerExp + FromStr + PartialEq + Into<f64> + Copy>(
    number: T,
    out: &mut Vec<u8>,
) {
    let magnitude: f64 = number.into().abs();
    if magnitude.is_nan() {
        out.extend_from_slice(b"NaN");
        return;
    }
    if number.into().is_sign_negative() {
        out.push(b'-');
    }
    if magnitude.is_infinite() {
        out.extend_from_slice(b"Infinity");
        return;
    }
    let scientific = java_digits(number);
    let scientific = scientific.trim_start_matches('-');
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: Vec<u8> = mantissa.bytes().filter(|byte: &u8| *byte != b'.').collect();
    if magnitude == 0.0 || (1e-3..1e7).contains(&magnitude) {
        write_plain(&digits, exponent + 1, out);
    } else {
        write_plain(&digits, 1, out);
        out.push(b'E');
        out.extend_from_slice(exponent.to_string().as_bytes());
    }
}

/// Writes digits with the point behind the first `point` of them, and at least one digit on both sides.
fn write_plain(digits: &[u8], point: i32, out: &mut Vec<u8>) {
    let whole = usize::try_from(point).unwrap_or(0);
    let zeros = usize::try_from(-point).unwrap_or(0);
    let (before, after) = digits.split_at(whole.min(digits.len()));
    out.extend_from_slice(if before.is_empty() { b"0" } else { before });
    out.extend(std::iter::repeat_n(b'0', whole.saturating_sub(digits.len())));
    out.push(b'.');
    out.extend(std::iter::repeat_n(b'0', zeros));
    out.extend_from_slice(if after.is_empty() { b"0" } else { after });
}

/// Writes a DECIMAL with all the digits of its scale. Without `plain`, a number below 0.000001 has an
/// exponent, as in Java's `BigDecimal.toString`.
pub(super) fn write_decimal(unscaled: i128, scale: i8, plain: bool, out: &mut Vec<u8>) {
    if unscaled < 0 {
        out.push(b'-');
    }
    let digits = unscaled.unsigned_abs().to_string();
    let (digits, scale) = (digits.as_bytes(), usize::try_from(scale).unwrap_or(0));
    let exponent = digits.len() as i64 - 1 - scale as i64;
    if !plain && exponent < -6 {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.extend_from_slice(format!("E{exponent}").as_bytes());
        return;
    }
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(scale));
    out.extend_from_slice(if whole.is_empty() { b"0" } else { whole });
    if scale > 0 {
        out.push(b'.');
        out.extend(std::iter::repeat_n(b'0', scale - fraction.len()));
        out.extend_from_slice(fraction);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_javas() {
        assert_eq!(parse_integer::<i8>("-128", "TINYINT"), Ok(-128));
        assert_eq!(parse_integer::<i64>("+5", "BIGINT"), Ok(5));
        let error = |text: &str| parse_integer::<i8>(text, "TINYINT").unwrap_err().to_string();
        assert_eq!(error("128"), "128 is out of the range of TINYINT");
        for text in ["", "-", "1.0", "1 ", "0x1", "٣"] {
            assert_eq!(error(text), format!("'{text}' is not a number of type TINYINT"));
        }
    }

    #[test]
    fn floats_are_javas() {
        let parse = |text: &str| parse_float::<f64>(text, "DOUBLE").ok();
        for (text, value) in
            [("1", 1.0), ("-1.5e3", -1500.0), (".5", 0.5), ("1.", 1.0), ("1.5d", 1.5), ("2F", 2.0)]
        {
            assert_eq!(parse(text), Some(value), "{text}");
        }
        assert_eq!(parse("-Infinity"), Some(f64::NEG_INFINITY));
        assert_eq!(parse("1e400"), Some(f64::INFINITY));
        assert!(parse("NaN").unwrap().is_nan());
        for text in ["nan", "inf", "infinity", "INFINITY", "", "-", "e5", "1e", "x"] {
            assert_eq!(parse(text), None, "{text}");
        }
        // The nearest DOUBLE, not one beside it
        assert_eq!(parse("2.2250738585072011e-308"), Some(2.225_073_858_507_201e-308));
    }

    #[test]
    fn decimals_are_exact_and_rounded_half_up() {
        let parse = |text: &str, precision, scale| parse_decimal(text, precision, scale).unwrap();
        for (text, unscaled) in [
            ("1.005", 101),
            ("1.0049", 100),
            ("-0.005", -1),
            ("-0.0049", 0),
            ("0.004", 0),
            ("1e2", 10000),
            ("12.5E-1", 125),
            ("+.5", 50),
            ("5.", 500),
            ("000123.4", 12340),
            ("0e999999999", 0),
            ("1e-999999999", 0),
            ("999.994", 99999),
        ] {
            assert_eq!(parse(text, 5, 2), Some(unscaled), "{text}");
        }
        for text in ["1000", "999.995", "-1e3", "1e999999999", "12345"] {
            assert_eq!(parse(text, 5, 2), None, "{text}");
        }
        let nines = "9".repeat(38);
        assert_eq!(parse(&nines, 38, 0), Some(10_i128.pow(38) - 1));
        assert_eq!(parse(&format!("0.{nines}"), 38, 38), Some(10_i128.pow(38) - 1));
        assert_eq!(parse(&format!("0.{nines}9"), 38, 38), None);
        assert_eq!(parse("-99999999999999999999.999999999999999999", 38, 18), Some(1 - 10_i128.pow(38)));
        for text in ["", ".", "-", "1e", "e5", "1.2.3", "NaN", "1 ", "1_0"] {
            assert!(parse_decimal(text, 5, 2).is_err(), "{text}");
        }
    }

    #[test]
    fn floats_print_as_in_java() {
        let double = |value: f64| {
            let mut out = vec![];
            write_float(value, &mut out);
            String::from_utf8(out).unwrap()
        };
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (100.0, "100.0"),
            (123.456, "123.456"),
            (0.001, "0.001"),
            (0.00012, "1.2E-4"),
            (9_999_999.0, "9999999.0"),
            (10_000_000.0, "1.0E7"),
            (1.25e17, "1.25E17"),
            (f64::MIN_POSITIVE, "2.2250738585072014E-308"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(double(value), text);
        }
        let mut out = vec![];
        write_float(0.1_f32, &mut out);
        assert_eq!(out, b"0.1");
    }

    #[test]
    fn decimals_print_as_in_java() {
        let decimal = |unscaled, scale, plain| {
            let mut out = vec![];
            write_decimal(unscaled, scale, plain, &mut out);
            String::from_utf8(out).unwrap()
        };
        for (unscaled, scale, text) in [
            (12345, 2, "123.45"),
            (-5, 2, "-0.05"),
            (100, 2, "1.00"),
            (7, 0, "7"),
            (0, 2, "0.00"),
            (27, 9, "2.7E-8"),
            (1, 6, "0.000001"),
            (1, 7, "1E-7"),
            (0, 18, "0E-18"),
        ] {
            assert_eq!(decimal(unscaled, scale, false), text);
        }
        assert_eq!(decimal(27, 9, true), "0.000000027");
        assert_eq!(decimal(0, 18, true), "0.000000000000000000");
        assert_eq!(decimal(1 - 10_i128.pow(38), 18, true), "-99999999999999999999.999999999999999999");
    }
}
