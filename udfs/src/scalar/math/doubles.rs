//! Numbers as DOUBLE, and functions on them.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::compute::{binary, cast};
use arrow::datatypes::{DataType, Decimal128Type, Float64Type};
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use crate::decimal::{is_decimal, to_f64};
use crate::scalar::arguments::array;
use crate::scalar::plain::Plain;

/// Whether a type is a number. A bare NULL, which Flink refuses here, is none.
pub(in crate::scalar) fn is_numeric(data_type: &DataType) -> bool {
    data_type.is_signed_integer()
        || matches!(data_type, DataType::Float32 | DataType::Float64)
        || is_decimal(data_type)
}

/// An argument as DOUBLE. A FLOAT is widened exactly; of a DECIMAL it is the nearest double.
pub(super) fn doubles(args: &ScalarFunctionArgs, index: usize) -> Result<Float64Array> {
    let values = array(args, index)?;
    if let DataType::Decimal128(_, scale) = values.data_type() {
        let scale = u32::from(scale.unsigned_abs());
        return Ok(values.as_primitive::<Decimal128Type>().unary(|value| to_f64(value, scale)));
    }
    Ok(cast(&values, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
}

/// A function of one number with a DOUBLE as result.
pub(super) fn double_function(
    name: &'static str,
    form: &'static str,
    evaluate: fn(&ScalarFunctionArgs) -> Result<ArrayRef>,
) -> ScalarUDF {
    Plain::new(name, form, one_number, evaluate).udf()
}

fn one_number(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [number] if is_numeric(number) => Some((vec![number.clone()], DataType::Float64)),
        _ => None,
    }
}

/// Two numbers of which a DOUBLE is made.
pub(super) fn two_numbers(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    (args.len() == 2 && args.iter().all(is_numeric)).then(|| (args.to_vec(), DataType::Float64))
}

/// The function of every number of the first argument.
pub(super) fn of_one(args: &ScalarFunctionArgs, of: impl Fn(f64) -> f64) -> Result<ArrayRef> {
    Ok(Arc::new(doubles(args, 0)?.unary::<_, Float64Type>(of)))
}

/// The function of the numbers of the first two arguments.
pub(super) fn of_two(args: &ScalarFunctionArgs, of: impl Fn(f64, f64) -> f64) -> Result<ArrayRef> {
    let result: Float64Array = binary(&doubles(args, 0)?, &doubles(args, 1)?, of)?;
    Ok(Arc::new(result))
}
