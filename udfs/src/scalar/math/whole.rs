//! What FLOOR and CEIL of numbers share.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, Float32Type, Float64Type};
use datafusion_common::Result;
use datafusion_expr::ScalarFunctionArgs;

use super::doubles::is_numeric;
use crate::decimal::is_decimal;
use crate::scalar::arguments::array;

/// A number, and its type without a scale.
pub(super) fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [number @ DataType::Decimal128(precision, _)] if is_decimal(number) => {
            Some((vec![number.clone()], DataType::Decimal128(*precision, 0)))
        }
        [number] if is_numeric(number) => Some((vec![number.clone()], number.clone())),
        _ => None,
    }
}

/// Numbers made whole; `decimal` takes an unscaled value and what a whole one is in it.
pub(super) fn whole(
    args: &ScalarFunctionArgs,
    float: impl Fn(f32) -> f32,
    double: impl Fn(f64) -> f64,
    decimal: impl Fn(i128, i128) -> i128,
) -> Result<ArrayRef> {
    let input = array(args, 0)?;
    Ok(match input.data_type() {
        DataType::Float32 => Arc::new(input.as_primitive::<Float32Type>().unary::<_, Float32Type>(float)),
        DataType::Float64 => Arc::new(input.as_primitive::<Float64Type>().unary::<_, Float64Type>(double)),
        DataType::Decimal128(precision, scale) => {
            let unit = 10_i128.pow(u32::from(scale.unsigned_abs()));
            let values = input
                .as_primitive::<Decimal128Type>()
                .unary::<_, Decimal128Type>(|value| decimal(value, unit));
            Arc::new(values.with_data_type(DataType::Decimal128(*precision, 0)))
        }
        _ => input,
    })
}
