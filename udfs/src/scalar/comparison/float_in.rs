//! IN of floating numbers.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Float32Type, Float64Type};
use datafusion_common::{Result, internal_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::float_comparison::{Operand, collect};
use crate::scalar::plain::Plain;

/// `x IN (a, b, …)` of FLOAT or DOUBLE with constants that are finite numbers, planned as `flink_float_in(x, a, b,
/// …)`. As in Flink, which looks them up in a set, they are found by their bits: -0.0 is not in (0.0), although it is
/// equal to it.
pub fn float_in() -> ScalarUDF {
    Plain::new("flink_float_in", "<FLOATING> IN (<FLOATING>, …)", types, |args| {
        match args.arg_fields[0].data_type() {
            DataType::Float32 => {
                found::<Float32Type, _>(args, |number| (number + 0.0).to_bits(), f32::to_bits)
            }
            DataType::Float64 => {
                found::<Float64Type, _>(args, |number| (number + 0.0).to_bits(), f64::to_bits)
            }
            other => internal_err!("IN of {other}"),
        }
    })
    .of_first()
    .udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let (number, constants) = args.split_first()?;
    let fits = matches!(number, DataType::Float32 | DataType::Float64) && !constants.is_empty();
    fits.then(|| (vec![number.clone(); args.len()], DataType::Boolean))
}

/// Whether a number has the bits of one of the constants, of which none is a negative zero.
fn found<T: ArrowPrimitiveType, B: PartialEq>(
    args: &ScalarFunctionArgs,
    constant_bits: impl Fn(T::Native) -> B,
    bits: impl Fn(T::Native) -> B,
) -> Result<ArrayRef> {
    let rows = args.number_rows;
    let numbers = Operand::<T>::new(args, 0)?;
    let mut found = BooleanBuffer::new_unset(rows);
    for index in 1..args.args.len() {
        let constant = Operand::<T>::new(args, index)?;
        found = &found
            | &collect(rows, &numbers, &constant, |number, constant| bits(number) == constant_bits(constant));
    }
    Ok(Arc::new(BooleanArray::new(found, numbers.nulls(rows))))
}
