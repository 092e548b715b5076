//! The division of integers.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::compute::binary;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Int8Type, Int16Type, Int32Type, Int64Type};
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

/// Looks for zeros first, so that the division itself cannot fail.
fn divide<T: ArrowPrimitiveType>(
    args: &ScalarFunctionArgs,
    divide: impl Fn(T::Native, T::Native) -> T::Native,
) -> Result<ArrayRef> {
    let (dividends, divisors) = (array(args, 0)?, array(args, 1)?);
    let (dividends, divisors) = (dividends.as_primitive::<T>(), divisors.as_primitive::<T>());
    let zero = T::default_value();
    let has_zero = divisors.values().contains(&zero)
        && (0..divisors.len())
            .any(|row| divisors.value(row) == zero && divisors.is_valid(row) && dividends.is_valid(row));
    if has_zero {
        return exec_err!("/ by zero");
    }
    // what stands behind NULLs may still be zero
    let quotients: PrimitiveArray<T> =
        binary(
            dividends,
            divisors,
            |dividend, divisor| {
                if divisor == zero { zero } else { divide(dividend, divisor) }
            },
        )?;
    Ok(Arc::new(quotients))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    match args.arg_fields[0].data_type() {
        DataType::Int8 => divide::<Int8Type>(args, i8::wrapping_div),
        DataType::Int16 => divide::<Int16Type>(args, i16::wrapping_div),
        DataType::Int32 => divide::<Int32Type>(args, i32::wrapping_div),
        DataType::Int64 => divide::<Int64Type>(args, i64::wrapping_div),
        other => Err(wrong_arguments("/", std::slice::from_ref(other), "<INTEGER> / <INTEGER>")),
    }
}
