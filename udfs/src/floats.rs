//! The digits of FLOAT and DOUBLE as Java writes them.

use std::fmt::LowerExp;
use std::str::FromStr;

/// A finite number in the form `1.5e-7`, with the digits that Java's `toString` has: as few as tell it from all others, but two at
/// least, and of those that do the nearest to it, with an even last digit if there are two.
///
/// Rust's shortest digits are mostly the same. They are others where one digit is enough (`5e-324` for `4.9e-324`), and where the
/// number lies between two texts (`3355443.3` for the FLOAT 3355443.25, `3355443.2` in Java), which takes one of many whole digits.
pub fn java_digits<T: LowerExp + FromStr + PartialEq + Copy>(number: T) -> String {
    let shortest = format!("{number:e}");
    let digits = shortest.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
    let behind = digits.max(2) - 1;
    let mut nearest = format!("{number:.behind$e}");
    if nearest.parse().ok() != Some(number) {
        return shortest;
    }
    // a second digit that says nothing
    if digits == 1
        && let Some(at) = nearest.find(".0e")
    {
        nearest.replace_range(at..at + 2, "");
    }
    nearest
}

/// From here on a number may lie between two texts.
pub(crate) const EXACT_FLOATS: f64 = 262_144.0;

/// Appends `1.5e-7` without an exponent: `0.00000015`.
pub fn push_plain(scientific: &str, text: &mut String) {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let unsigned = mantissa.strip_prefix('-').unwrap_or(mantissa);
    if unsigned.len() < mantissa.len() {
        text.push('-');
    }
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = unsigned.chars().filter(|digit| *digit != '.').collect();
    if exponent < 0 {
        text.push_str("0.");
        text.extend(std::iter::repeat_n('0', exponent.unsigned_abs() as usize - 1));
        text.push_str(&digits);
        return;
    }
    let whole = exponent as usize + 1;
    text.push_str(&digits[..whole.min(digits.len())]);
    if digits.len() > whole {
        text.push('.');
        text.push_str(&digits[whole..]);
    } else {
        text.extend(std::iter::repeat_n('0', whole - digits.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_java() {
        for (number, expected) in [
            (f32::from_bits(1), "1.4e-45"),
            (13_421_773.0 / 4.0, "3.3554432e6"),
            (1e10, "1e10"),
            (-0.1, "-1e-1"),
            (f32::MAX, "3.4028235e38"),
            (16_777_216.0, "1.6777216e7"),
        ] {
            assert_eq!(java_digits(number), expected);
        }
        for (number, expected) in [
            (f64::from_bits(1), "4.9e-324"),
            (1e23, "1e23"),
            (2e-323, "2e-323"),
            (0.30000000000000004, "3.0000000000000004e-1"),
            (9_007_199_254_740_992.0, "9.007199254740992e15"),
        ] {
            assert_eq!(java_digits(number), expected);
        }
    }

    #[test]
    fn without_exponents() {
        for (scientific, expected) in [
            ("1.4e-45", "0.0000000000000000000000000000000000000000000014"),
            ("-1e-1", "-0.1"),
            ("3.3554432e6", "3355443.2"),
            ("1e10", "10000000000"),
            ("1.5e0", "1.5"),
        ] {
            let mut text = String::new();
            push_plain(scientific, &mut text);
            assert_eq!(text, expected);
        }
    }
}
