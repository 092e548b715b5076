//! Arguments of functions: what they take, and how they are read.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion_common::{DataFusionError, Result, ScalarValue, plan_datafusion_err};
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

/// Whether a type is an integer of at most 32 bits, or an untyped NULL.
pub(super) fn is_int(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Null)
}

/// Whether a type is BYTES.
pub(super) fn is_bytes(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_)
    )
}

/// A text argument, which is read by row; a constant is not repeated for that.
pub(super) enum Text<'a> {
    Constant(Option<&'a str>),
    Column(StringArray),
}

impl<'a> Text<'a> {
    pub(super) fn new(args: &'a ScalarFunctionArgs, index: usize) -> Result<Self> {
        Ok(match constant_text(args, index) {
            Some(constant) => Self::Constant(constant),
            None => Self::Column(strings(args, index)?),
        })
    }

    /// The text of a row, `None` for NULL.
    pub(super) fn get(&self, row: usize) -> Option<&str> {
        match self {
            Self::Constant(constant) => *constant,
            Self::Column(texts) => texts.is_valid(row).then(|| texts.value(row)),
        }
    }

    /// How many bytes all rows have, to reserve memory.
    pub(super) fn bytes(&self, rows: usize) -> usize {
        match self {
            Self::Constant(constant) => constant.map_or(0, str::len).saturating_mul(rows),
            Self::Column(texts) => texts.value_data().len(),
        }
    }
}

/// An integer argument, which is read by row.
pub(super) enum Integer {
    Constant(Option<i64>),
    Column(Int64Array),
}

impl Integer {
    pub(super) fn new(args: &ScalarFunctionArgs, index: usize) -> Result<Self> {
        Ok(match args.args.get(index) {
            Some(ColumnarValue::Scalar(value)) => {
                let value = value.cast_to(&DataType::Int64)?;
                Self::Constant(match value {
                    ScalarValue::Int64(value) => value,
                    _ => None,
                })
            }
            _ => Self::Column(
                cast(&array(args, index)?, &DataType::Int64)?.as_primitive::<Int64Type>().clone(),
            ),
        })
    }

    /// The number of a row, `None` for NULL.
    pub(super) fn get(&self, row: usize) -> Option<i64> {
        match self {
            Self::Constant(constant) => *constant,
            Self::Column(numbers) => numbers.is_valid(row).then(|| numbers.value(row)),
        }
    }
}

/// The arguments of a function on texts and INTs: `t` stands for a text, `i` for an INT. `None` if these are
/// others.
pub(super) fn texts_and_ints(args: &[DataType], wanted: &str) -> Option<Vec<DataType>> {
    if args.len() != wanted.len() {
        return None;
    }
    args.iter()
        .zip(wanted.bytes())
        .map(|(arg, wanted)| match wanted {
            b't' => is_text(arg).then_some(DataType::Utf8),
            _ => is_int(arg).then_some(DataType::Int32),
        })
        .collect()
}
