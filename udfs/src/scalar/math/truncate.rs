//! TRUNCATE.

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, Float64Type, Int64Type};
use datafusion_common::{Result, exec_err};
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::position::{argument_types, decimals, null_position, positions, result_field};
use crate::scalar::arguments::{array, result_of};
use crate::scalar::text_number::{parse_decimal, write_f32, write_f64};

/// `TRUNCATE(number [, position])`: the number cut toward zero to so many digits behind the point, or before it
/// if the position is negative. Types stay; a DECIMAL has the scale of a constant position.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Truncate {
    signature: Signature,
}

impl Default for Truncate {
    fn default() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Truncate {
    fn name(&self) -> &str {
        "truncate"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        argument_types("TRUNCATE", arg_types)
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(argument_types("TRUNCATE", arg_types)?.swap_remove(0))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(result_field(self.name(), &args))
    }

    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        null_position(args, context)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let numbers = array(&args, 0)?;
        let result: ArrayRef = match numbers.data_type() {
            DataType::Decimal128(_, _) => decimals(&args, &numbers, |value, unit| value / unit)?,
            DataType::Float32 | DataType::Float64 => {
                let single = numbers.data_type() == &DataType::Float32;
                let doubles = cast(&numbers, &DataType::Float64)?;
                let positions = positions(&args)?;
                let mut text = String::new();
                let rows = doubles.as_primitive::<Float64Type>().iter().enumerate();
                let cut = rows.map(|(row, value)| match (value, positions.get(row)) {
                    (Some(value), Some(position)) => cut_float(value, position, single, &mut text).map(Some),
                    _ => Ok(None),
                });
                cast(&cut.collect::<Result<Float64Array>>()?, numbers.data_type())?
            }
            _ => {
                let integers = cast(&numbers, &DataType::Int64)?;
                let positions = positions(&args)?;
                let cut = |value: i64, position: i64| match u32::try_from(-position.min(0)) {
                    Ok(digits) => 10_i64.checked_pow(digits).map_or(0, |unit| value / unit * unit),
                    Err(_) => 0,
                };
                let rows = integers.as_primitive::<Int64Type>().iter().enumerate();
                let cut: Int64Array =
                    rows.map(|(row, value)| Some(cut(value?, positions.get(row)?))).collect();
                cast(&cut, numbers.data_type())?
            }
        };
        result_of(&args, result)
    }
}

/// Cuts the shortest decimal text of a floating number, so that 2.67 to two digits stays 2.67.
fn cut_float(value: f64, position: i64, single: bool, text: &mut String) -> Result<f64> {
    if !value.is_finite() {
        return exec_err!("TRUNCATE takes no {value}: it cuts the decimal digits of a number");
    }
    text.clear();
    if single {
        write_f32(value as f32, text)
    } else {
        write_f64(value, text)
    }
    let scale = position.clamp(-38, 18) as i8;
    // one digit more than is kept, since reading a decimal rounds
    Ok(match parse_decimal(text, 38, scale.saturating_add(1)) {
        Some(unscaled) if value.abs() < 1e18 => {
            let kept = unscaled / 10;
            if scale >= 0 {
                crate::decimal::to_f64(kept, u32::from(scale.unsigned_abs()))
            } else {
                kept as f64 * 10_f64.powi(-i32::from(scale))
            }
        }
        _ => value,
    })
}
