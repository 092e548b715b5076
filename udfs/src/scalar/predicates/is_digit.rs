//! IS_DIGIT.

use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use super::check::{check, folded, predicate};
use crate::scalar::digits::decimal_digit;

/// `IS_DIGIT(text)`: whether there are only decimal digits, of any script. TRUE for integers, even NULL.
pub(super) fn is_digit() -> ScalarUDF {
    predicate(
        "is_digit",
        "IS_DIGIT(<CHARACTER>)",
        |args| {
            check(args, |text| text.chars().all(|c| decimal_digit(c).is_some()), DataType::is_signed_integer)
        },
        |args, context| folded(args, context, DataType::is_signed_integer),
    )
}
