//! Arguments of functions: what they take, and how they are read.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef};
use datafusion_common::{DataFusionError, Result, plan_datafusion_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs};

use crate::types::type_name;

/// The error of a function that does not take arguments of these types.
pub(super) fn wrong_arguments(function: &str, arg_types: &[DataType], supported: &str) -> DataFusionError {
    let types: Vec<_> = arg_types.iter().map(|arg| format!("<{}>", type_name(arg))).collect();
    plan_datafusion_err!(
        "Cannot apply '{function}' to arguments of type '{function}({})'. Supported form(s): '{supported}'",
        types.join(", ")
    )
}

/// Whether a type is one of the string types.
pub(super) fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null)
}

/// An argument as an array of all rows.
pub(super) fn array(args: &ScalarFunctionArgs, index: usize) -> Result<ArrayRef> {
    let arg = args.args.get(index).ok_or_else(|| plan_datafusion_err!("argument {index} is missing"))?;
    arg.to_array(args.number_rows)
}

/// An argument as strings of all rows.
pub(super) fn strings(args: &ScalarFunctionArgs, index: usize) -> Result<StringArray> {
    Ok(cast(&array(args, index)?, &DataType::Utf8)?.as_string().clone())
}

/// An argument that is the same for all rows, if it is: `Some(None)` is NULL.
pub(super) fn constant_text(args: &ScalarFunctionArgs, index: usize) -> Option<Option<&str>> {
    match args.args.get(index) {
        Some(ColumnarValue::Scalar(value)) => value.try_as_str(),
        _ => None,
    }
}

/// A result that is constant if all arguments are.
pub(super) fn result(args: &ScalarFunctionArgs, array: impl Array + 'static) -> Result<ColumnarValue> {
    result_of(args, Arc::new(array))
}

/// A result that is constant if all arguments are.
pub(super) fn result_of(args: &ScalarFunctionArgs, array: ArrayRef) -> Result<ColumnarValue> {
    let constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
    if constant && array.len() == 1 {
        return Ok(ColumnarValue::Scalar(datafusion_common::ScalarValue::try_from_array(&array, 0)?));
    }
    Ok(ColumnarValue::Array(array))
}

/// Whether any of the arguments can be NULL.
pub(super) fn any_nullable(fields: &[FieldRef]) -> bool {
    fields.iter().any(|field| field.is_nullable())
}
