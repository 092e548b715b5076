//! TRUNCATE.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Decimal128Array, Float64Array, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, Float64Type, Int32Type, Int64Type};
use datafusion_common::{Result, ScalarValue, internal_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::arguments::{any_nullable, array, result_of, wrong_arguments};
use super::plain::{is_integer, is_number};
use super::text_number::{parse_decimal, write_f32, write_f64};

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
        match arg_types {
            [number] if is_number(number) => Ok(vec![number.clone()]),
            [number, position] if is_number(number) && is_integer(position) => {
                Ok(vec![number.clone(), DataType::Int32])
            }
            _ => Err(wrong_arguments("TRUNCATE", arg_types, "TRUNCATE(<NUMERIC>, <INTEGER>)")),
        }
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(arg_types[0].clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let position = match args.scalar_arguments.get(1) {
            None => Some(0),
            Some(Some(ScalarValue::Int32(position))) => *position,
            Some(_) => None,
        };
        let result = match (args.arg_fields[0].data_type(), position) {
            (DataType::Decimal128(precision, scale), Some(position)) => {
                let kept = i32::from(*scale).min(position.max(0)) as i8;
                let digits = i32::from(*precision) - i32::from(*scale) + i32::from(kept);
                DataType::Decimal128(u8::try_from(digits.max(1)).unwrap_or(*precision), kept)
            }
            (other, _) => other.clone(),
        };
        Ok(Arc::new(Field::new(self.name(), result, any_nullable(args.arg_fields))))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let numbers = array(&args, 0)?;
        let positions = match args.args.len() {
            1 => ColumnarValue::Scalar(ScalarValue::Int32(Some(0))).to_array(args.number_rows)?,
            _ => array(&args, 1)?,
        };
        let positions = positions.as_primitive::<Int32Type>();
        let result: ArrayRef = match numbers.data_type() {
            DataType::Decimal128(_, scale) => {
                let DataType::Decimal128(_, result_scale) = args.return_field.data_type() else {
                    return internal_err!("TRUNCATE of a DECIMAL as {}", args.return_field.data_type());
                };
                let shift = 10_i128.pow(u32::from((scale - result_scale).unsigned_abs()));
                let cut = |value: i128, position: i32| {
                    let digits = (i32::from(*scale) - position).max(0);
                    match 10_i128.checked_pow(digits as u32) {
                        Some(unit) => value / unit * unit / shift,
                        None => 0,
                    }
                };
                let rows = numbers.as_primitive::<Decimal128Type>().iter().zip(positions);
                let cut: Decimal128Array =
                    rows.map(|(value, position)| Some(cut(value?, position?))).collect();
                Arc::new(cut.with_data_type(args.return_field.data_type().clone()))
            }
            DataType::Float32 | DataType::Float64 => {
                let single = numbers.data_type() == &DataType::Float32;
                let doubles = cast(&numbers, &DataType::Float64)?;
                let rows = doubles.as_primitive::<Float64Type>().iter().zip(positions);
                let mut text = String::new();
                let cut: Float64Array = rows
                    .map(|(value, position)| Some(cut_float(value?, position?, single, &mut text)))
                    .collect();
                cast(&cut, numbers.data_type())?
            }
            _ => {
                let integers = cast(&numbers, &DataType::Int64)?;
                let rows = integers.as_primitive::<Int64Type>().iter().zip(positions);
                let cut = |value: i64, position: i32| match 10_i64.checked_pow(position.min(0).unsigned_abs())
                {
                    Some(unit) => value / unit * unit,
                    None => 0,
                };
                let cut: Int64Array = rows.map(|(value, position)| Some(cut(value?, position?))).collect();
                cast(&cut, numbers.data_type())?
            }
        };
        result_of(&args, result)
    }
}

/// Cuts the shortest decimal text of a floating number, so that 2.67 to two digits stays 2.67.
fn cut_float(value: f64, position: i32, single: bool, text: &mut String) -> f64 {
    if !value.is_finite() {
        return value;
    }
    text.clear();
    if single {
        write_f32(value as f32, text)
    } else {
        write_f64(value, text)
    }
    let scale = position.clamp(-38, 18) as i8;
    // one digit more than is kept, since reading a decimal rounds
    match parse_decimal(text, 38, scale.saturating_add(1)) {
        Some(unscaled) if value.abs() < 1e18 => {
            let kept = unscaled / 10;
            if scale >= 0 {
                crate::decimal::to_f64(kept, u32::from(scale.unsigned_abs()))
            } else {
                kept as f64 * 10_f64.powi(-i32::from(scale))
            }
        }
        _ => value,
    }
}
