//! IS_DECIMAL.

use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use super::check::{check, folded, predicate};
use crate::scalar::digits::decimal_digit;
use crate::scalar::text_number::parse_f64;

/// `IS_DECIMAL(text)`: whether Java reads it as a DOUBLE, or as a BIGINT, whose digits may be of any script. TRUE for
/// integers and floating numbers, even NULL, and FALSE for DECIMAL.
pub(super) fn is_decimal() -> ScalarUDF {
    predicate(
        "is_decimal",
        "IS_DECIMAL(<CHARACTER>)",
        |args| {
            let double = |text: &str| parse_f64(text.trim_matches(|c| c <= ' ')).is_some();
            check(args, |text| double(text) || is_bigint(text), is_counted)
        },
        |args, context| folded(args, context, is_counted),
    )
}

/// Whether a text is what Java's `Long.parseLong` takes.
fn is_bigint(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let value = digits.chars().try_fold(0_i64, |value, digit| {
        value.checked_mul(10)?.checked_add(sign * i64::from(decimal_digit(digit)?))
    });
    !digits.is_empty() && value.is_some()
}

/// Whether numbers of a type count.
fn is_counted(data_type: &DataType) -> bool {
    !matches!(data_type, DataType::Decimal128(_, _))
}

#[cfg(test)]
mod tests {
    use super::is_bigint;

    #[test]
    fn digits_of_all_scripts() {
        for (text, expected) in [
            ("٣٤", true),
            ("-٣٤", true),
            ("-9223372036854775808", true),
            ("9223372036854775808", false),
            ("", false),
            ("-", false),
            ("٣.٤", false),
            ("½", false),
        ] {
            assert_eq!(is_bigint(text), expected, "{text}");
        }
    }
}
