//! ROUND.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, FieldRef, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};
use datafusion_common::{Result, exec_err};
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::position::{argument_types, decimals, null_position, positions, result_field};
use crate::scalar::arguments::{Integer, array, result_of};

/// `ROUND(number [, position])`: the number rounded half away from zero to so many digits behind the point, or before it if
/// the position is negative. Types stay; a DECIMAL has the scale of a constant position.
///
/// As in Flink integers wrap, a floating number is rounded by its shortest decimal text (that of its DOUBLE), and NaN and
/// infinities are errors.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Round {
    signature: Signature,
}

impl Default for Round {
    fn default() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Round {
    fn name(&self) -> &str {
        "round"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        argument_types("ROUND", arg_types)
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(argument_types("ROUND", arg_types)?.swap_remove(0))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(result_field(self.name(), &args))
    }

    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        null_position(args, context)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let numbers = array(&args, 0)?;
        let rounded: ArrayRef = match numbers.data_type() {
            DataType::Decimal128(_, _) => decimals(&args, &numbers, |value, unit| {
                let (quotient, rest) = (value / unit, value % unit);
                // doubling the rest could overflow
                quotient + if rest.abs() >= unit - rest.abs() { value.signum() } else { 0 }
            })?,
            DataType::Int8 => integers::<Int8Type>(&args, &numbers, |value| value as i8)?,
            DataType::Int16 => integers::<Int16Type>(&args, &numbers, |value| value as i16)?,
            DataType::Int32 => integers::<Int32Type>(&args, &numbers, |value| value as i32)?,
            DataType::Int64 => integers::<Int64Type>(&args, &numbers, |value| value as i64)?,
            _ => {
                let doubles = cast(&numbers, &DataType::Float64)?;
                let doubles = doubles.as_primitive::<Float64Type>();
                let positions = positions(&args)?;
                let mut text = String::new();
                let rows = doubles.iter().enumerate().map(|(row, value)| match (value, positions.get(row)) {
                    (Some(value), Some(position)) => round(value, position, &mut text).map(Some),
                    _ => Ok(None),
                });
                cast(&rows.collect::<Result<Float64Array>>()?, numbers.data_type())?
            }
        };
        result_of(&args, rounded)
    }
}

fn integers<T: ArrowPrimitiveType>(
    args: &ScalarFunctionArgs,
    numbers: &ArrayRef,
    wrap: impl Fn(i128) -> T::Native,
) -> Result<ArrayRef>
where
    T::Native: Into<i128>,
{
    let positions = positions(args)?;
    if let Integer::Constant(Some(0..)) = positions {
        return Ok(Arc::clone(numbers));
    }
    let rows = numbers.as_primitive::<T>().iter().enumerate();
    let rounded: PrimitiveArray<T> =
        rows.map(|(row, value)| Some(wrap(round_integer(value?.into(), positions.get(row)?)))).collect();
    Ok(Arc::new(rounded))
}

fn round_integer(value: i128, position: i64) -> i128 {
    match u32::try_from(-position) {
        Err(_) if position > 0 => value,
        Err(_) | Ok(20..) => 0,
        Ok(digits) => {
            let unit = 10_i128.pow(digits);
            (value + value.signum() * (unit / 2)) / unit * unit
        }
    }
}

/// Rounds the shortest decimal text of a double.
fn round(value: f64, position: i64, text: &mut String) -> Result<f64> {
    if !value.is_finite() {
        return exec_err!("ROUND takes no {value}: it rounds the decimal digits of a number");
    }
    text.clear();
    // writing to a String cannot fail
    let _ = write!(text, "{:e}", value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text.as_str(), "0"));
    let mut digits = 0_u64;
    let mut behind_point = 0;
    for byte in mantissa.bytes().filter(u8::is_ascii_digit) {
        digits = digits * 10 + u64::from(byte - b'0');
        behind_point += 1;
    }
    // the value is `digits` times ten to this power
    let power = exponent.parse::<i64>().unwrap_or(0) - (behind_point - 1);
    let dropped = -(power + position);
    if dropped <= 0 {
        return Ok(if value == 0.0 { 0.0 } else { value });
    }
    let kept = match u32::try_from(dropped).ok().and_then(|dropped| 10_u64.checked_pow(dropped)) {
        Some(unit) => digits / unit + u64::from(digits % unit >= unit / 2),
        None => 0,
    };
    if kept == 0 {
        return Ok(0.0);
    }
    text.clear();
    let _ = write!(text, "{kept}e{}", -position);
    Ok(text.parse::<f64>().unwrap_or(value).copysign(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_rounded_by_their_text() {
        let mut text = String::new();
        for (value, position, expected) in [
            (1.005, 2, 1.01),
            (2.675, 2, 2.68),
            (-15.5555, 2, -15.56),
            (15.5555, -1, 20.0),
            (5.0, -1, 10.0),
            (4.9, -1, 0.0),
            (0.5, 0, 1.0),
            (-0.4, 0, 0.0),
            (1.5e25, 2, 1.5e25),
            (1.5e25, -25, 2e25),
            (1e-20, 3, 0.0),
            (9.99, 1, 10.0),
            (1.0, 400, 1.0),
            (1.0, -400, 0.0),
        ] {
            let rounded = round(value, position, &mut text).unwrap();
            assert_eq!(rounded.to_bits(), f64::to_bits(expected), "{value} to {position}");
        }
        assert!(round(f64::NAN, 1, &mut text).is_err());
        assert!(round(f64::INFINITY, 1, &mut text).is_err());
    }

    #[test]
    fn integers_are_rounded_half_away_from_zero() {
        for (value, position, expected) in [
            (1555, -1, 1560),
            (-35, -1, -40),
            (34, -1, 30),
            (49, -2, 0),
            (50, -2, 100),
            (7, 3, 7),
            (7, -99, 0),
        ] {
            assert_eq!(round_integer(value, position), expected, "{value} to {position}");
        }
    }
}
