//! IS_DECIMAL.

use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use super::check::{check, folded, predicate};
use crate::scalar::text_number::parse_f64;

/// `IS_DECIMAL(text)`: whether Java reads it as a DOUBLE. TRUE for integers and floating numbers, even NULL,
/// and FALSE for DECIMAL.
pub(super) fn is_decimal() -> ScalarUDF {
    predicate(
        "is_decimal",
        "IS_DECIMAL(<CHARACTER>)",
        |args| {
            let number = |text: &str| parse_f64(text.trim_matches(|c| c <= ' ')).is_some();
            check(args, number, is_counted)
        },
        |args, context| folded(args, context, is_counted),
    )
}

/// Whether numbers of a type count.
fn is_counted(data_type: &DataType) -> bool {
    !matches!(data_type, DataType::Decimal128(_, _))
}
