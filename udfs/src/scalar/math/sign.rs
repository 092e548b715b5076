//! SIGN.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type};
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use crate::scalar::arguments::array;
use crate::scalar::plain::{Plain, is_number};

/// `SIGN(number)`: -1, 0 or 1 in the type of the number; NaN stays.
pub(super) fn sign() -> ScalarUDF {
    Plain::new("sign", "SIGN(<NUMERIC>)", types, evaluate).alias("signum").udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [number] if is_number(number) => Some((vec![number.clone()], number.clone())),
        _ => None,
    }
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let input = array(args, 0)?;
    let signs: ArrayRef = match input.data_type() {
        DataType::Decimal128(_, scale) => {
            let one = 10_i128.pow(u32::from(scale.unsigned_abs()));
            let signs =
                input.as_primitive::<Decimal128Type>().unary::<_, Decimal128Type>(|v| v.signum() * one);
            return Ok(Arc::new(signs.with_data_type(input.data_type().clone())));
        }
        DataType::Float32 | DataType::Float64 => {
            let values = cast(&input, &DataType::Float64)?;
            let sign = |value: f64| if value == 0.0 { value } else { value.signum() };
            let values = values.as_primitive::<Float64Type>();
            Arc::new(values.unary::<_, Float64Type>(|value| if value.is_nan() { value } else { sign(value) }))
        }
        _ => {
            let values = cast(&input, &DataType::Int64)?;
            Arc::new(values.as_primitive::<Int64Type>().unary::<_, Int64Type>(i64::signum))
        }
    };
    Ok(cast(&signs, input.data_type())?)
}
