//! What functions take and refuse.

use arrow::datatypes::DataType;
use datafusion_common::{Result, plan_err};

use crate::decimal::is_decimal;
use crate::types::type_name;

/// The one argument of a function over numbers, as it is; an error for any other type.
pub(super) fn numeric_argument(function: &str, arg_types: &[DataType]) -> Result<Vec<DataType>> {
    let arg = one_argument(function, arg_types)?;
    match storage_type(arg) {
        DataType::Duration(_) => Ok(vec![storage_type(arg).clone()]),
        number if is_decimal(number) => Ok(vec![number.clone()]),
        number if number.is_integer() || matches!(number, DataType::Float32 | DataType::Float64) => {
            Ok(vec![number.clone()])
        }
        _ => plan_err!(
            "Cannot apply '{function}' to arguments of type '{function}(<{}>)'. Supported form(s): '{function}(<NUMERIC>)'",
            type_name(arg)
        ),
    }
}

/// The argument of a function that takes one.
pub(super) fn one_argument<'a>(function: &str, arg_types: &'a [DataType]) -> Result<&'a DataType> {
    match arg_types {
        [DataType::Null] => plan_err!("{function} does not take an untyped NULL. Cast it to a type"),
        [arg] => Ok(arg),
        _ => plan_err!("{function} takes 1 argument and got {}", arg_types.len()),
    }
}

/// The type of the values of an array that may be dictionary encoded.
pub(super) fn storage_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}
