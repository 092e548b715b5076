//! ABS.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::doubles::is_numeric;
use crate::scalar::arguments::{array, wrong_arguments};
use crate::scalar::plain::Plain;

/// `ABS(number)`: a number without its sign, in its type. That of the least integer is the least integer again.
pub(super) fn abs() -> ScalarUDF {
    Plain::new("abs", "ABS(<NUMERIC>)", types, evaluate).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [number] if is_numeric(number) => Some((vec![number.clone()], number.clone())),
        _ => None,
    }
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let input = array(args, 0)?;
    Ok(match input.data_type() {
        DataType::Int8 => Arc::new(input.as_primitive::<Int8Type>().unary::<_, Int8Type>(i8::wrapping_abs)),
        DataType::Int16 => {
            Arc::new(input.as_primitive::<Int16Type>().unary::<_, Int16Type>(i16::wrapping_abs))
        }
        DataType::Int32 => {
            Arc::new(input.as_primitive::<Int32Type>().unary::<_, Int32Type>(i32::wrapping_abs))
        }
        DataType::Int64 => {
            Arc::new(input.as_primitive::<Int64Type>().unary::<_, Int64Type>(i64::wrapping_abs))
        }
        DataType::Float32 => Arc::new(input.as_primitive::<Float32Type>().unary::<_, Float32Type>(f32::abs)),
        DataType::Float64 => Arc::new(input.as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::abs)),
        DataType::Decimal128(_, _) => {
            let values =
                input.as_primitive::<Decimal128Type>().unary::<_, Decimal128Type>(i128::wrapping_abs);
            Arc::new(values.with_data_type(input.data_type().clone()))
        }
        other => return Err(wrong_arguments("ABS", std::slice::from_ref(other), "ABS(<NUMERIC>)")),
    })
}
