//! The division of integers.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use arrow::compute::try_binary;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow::error::ArrowError;
use datafusion_common::{Result, exec_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use crate::common_type::common_type;
use crate::scalar::arguments::{array, wrong_arguments};
use crate::scalar::plain::Plain;

/// `a / b` over integers, planned as `flink_integer_divide(a, b)`: cut toward zero, in the wider type. The least integer by -1 is the least
/// integer again; a divisor of zero is an error.
pub fn integer_division() -> ScalarUDF {
    Plain::new("flink_integer_divide", "<INTEGER> / <INTEGER>", types, evaluate).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [dividend, divisor] if dividend.is_signed_integer() && divisor.is_signed_integer() => {
            let common = common_type(dividend, divisor)?;
            Some((vec![common.clone(); 2], common))
        }
        _ => None,
    }
}

fn divide<T: ArrowPrimitiveType>(
    args: &ScalarFunctionArgs,
    divide: impl Fn(T::Native, T::Native) -> Option<T::Native>,
) -> Result<ArrayRef> {
    let (dividends, divisors) = (array(args, 0)?, array(args, 1)?);
    let quotients: std::result::Result<PrimitiveArray<T>, ArrowError> =
        try_binary(dividends.as_primitive::<T>(), divisors.as_primitive::<T>(), |dividend, divisor| {
            divide(dividend, divisor).ok_or(ArrowError::DivideByZero)
        });
    match quotients {
        Ok(quotients) => Ok(Arc::new(quotients)),
        Err(ArrowError::DivideByZero) => exec_err!("/ by zero"),
        Err(error) => Err(error.into()),
    }
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    match args.arg_fields[0].data_type() {
        DataType::Int8 => divide::<Int8Type>(args, |a, b| (b != 0).then(|| a.wrapping_div(b))),
        DataType::Int16 => divide::<Int16Type>(args, |a, b| (b != 0).then(|| a.wrapping_div(b))),
        DataType::Int32 => divide::<Int32Type>(args, |a, b| (b != 0).then(|| a.wrapping_div(b))),
        DataType::Int64 => divide::<Int64Type>(args, |a, b| (b != 0).then(|| a.wrapping_div(b))),
        other => Err(wrong_arguments("/", std::slice::from_ref(other), "<INTEGER> / <INTEGER>")),
    }
}
