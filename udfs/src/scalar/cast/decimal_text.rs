//! Text as DECIMAL.

use crate::decimal::fits;
use crate::scalar::digits::decimal_digit;
use crate::scalar::text_number::parse_decimal;

/// The most digits, and bytes, that Flink reads by a parser of its own.
const SHORT: usize = 18;

/// The unscaled value of a text as a DECIMAL, rounded half up; `None` if the text is no number or has too many digits.
///
/// Flink has two parsers. That for short texts and small types stops at the first character that it does not know, which it
/// forgives at the end of the text, so that `5x` is 5. The other one is strict, and takes digits of all scripts.
pub(super) fn parse(text: &str, precision: u8, scale: i8) -> Option<i128> {
    if usize::from(precision) <= SHORT && text.len() <= SHORT {
        return short(text.as_bytes(), precision, scale);
    }
    let text = text.trim_matches([' ', '\n', '\t']);
    if text.is_ascii() {
        return parse_decimal(text, precision, scale);
    }
    let ascii =
        text.chars().map(|letter| decimal_digit(letter).map_or(letter, |digit| char::from(b'0' + digit)));
    parse_decimal(&ascii.collect::<String>(), precision, scale)
}

fn short(text: &[u8], precision: u8, scale: i8) -> Option<i128> {
    let text = &text[text.iter().position(|byte| !is_space(*byte))?..];
    let (negative, mut rest) = match text {
        [sign @ (b'-' | b'+'), rest @ ..] => (*sign == b'-', rest),
        _ => (false, text),
    };
    let (mut value, mut digits, mut point) = (0_i128, 0_i64, None);
    // a sign without digits is none
    let mut last = *rest.first()?;
    while let [byte, behind @ ..] = rest {
        (last, rest) = (*byte, behind);
        match byte {
            b'0'..=b'9' => {
                value = value * 10 + i128::from(byte - b'0');
                digits += 1;
            }
            b'.' if point.is_some() => return None,
            b'.' => point = Some(digits),
            _ => break,
        }
    }
    let mut exponent = 0_i64;
    if matches!(last, b'e' | b'E') && !rest.is_empty() {
        let negative = rest[0] == b'-';
        if matches!(rest[0], b'-' | b'+') {
            rest = &rest[1..];
            rest.first()?;
        }
        while let [byte, behind @ ..] = rest {
            rest = behind;
            match byte {
                // what is larger does not fit anyway
                b'0'..=b'9' if exponent < 40 => exponent = exponent * 10 + i64::from(byte - b'0'),
                b'0'..=b'9' => {}
                _ => break,
            }
        }
        if negative {
            exponent = -exponent;
        }
    }
    if !rest.iter().all(|byte| is_space(*byte)) {
        return None;
    }
    let change = exponent - (digits - point.unwrap_or(digits)) + i64::from(scale);
    if digits + change > i64::from(precision) || change.abs() > SHORT as i64 {
        return None;
    }
    let unit = 10_i128.pow(change.unsigned_abs() as u32);
    let value = if change >= 0 { value * unit } else { (value + unit / 2) / unit };
    let value = if negative { -value } else { value };
    // rounding may give one digit more, which Flink keeps and cannot show
    fits(value, precision).then_some(value)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn short_texts_may_end_badly() {
        for (text, expected) in [
            ("42", Some(4200)),
            (" -5.705 ", Some(-571)),
            ("5x", Some(500)),
            ("x", Some(0)),
            (".", Some(0)),
            ("1e2", Some(10_000)),
            ("1E-2", Some(1)),
            ("1e", Some(100)),
            ("12x3", None),
            ("0.1.2", None),
            ("-", None),
            ("", None),
            (" ", None),
            ("1e+", None),
            ("1000", None),
            ("1e400", None),
            ("1e-400", None),
            ("٤٢", None),
        ] {
            assert_eq!(parse(text, 5, 2), expected, "{text:?}");
        }
    }

    #[test]
    fn long_ones_may_not() {
        for (text, expected) in [
            ("٤٢", Some(420_000_000_000)),
            ("\t1.5e+3\n", Some(15_000_000_000_000)),
            ("1e-400", Some(0)),
            ("5x", None),
            (".", None),
            ("1e", None),
            ("", None),
        ] {
            assert_eq!(parse(text, 38, 10), expected, "{text:?}");
        }
    }
}
