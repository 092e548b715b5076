//! Numbers as text, by the rules of Java's `Integer.parseInt`, `Double.parseDouble` and `BigDecimal`.

use std::str::FromStr;

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
