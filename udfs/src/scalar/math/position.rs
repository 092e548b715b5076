//! What ROUND and TRUNCATE share: the position, and the type of a DECIMAL.

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array};
use arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef};
use datafusion_common::{Result, ScalarValue, internal_err};
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::{Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs};
use std::sync::Arc;

use super::doubles::is_numeric;
use crate::decimal::{MAX_PRECISION, fits};
use crate::scalar::arguments::{Integer, any_nullable, is_int, wrong_arguments};
use crate::scalar::folding::cannot_fail;

/// The types of a number and a position.
pub(super) fn argument_types(name: &str, arg_types: &[DataType]) -> Result<Vec<DataType>> {
    match arg_types {
        [number] if is_numeric(number) => Ok(vec![number.clone()]),
        [number, position] if is_numeric(number) && is_int(position) && !position.is_null() => {
            Ok(vec![number.clone(), DataType::Int32])
        }
        _ => Err(wrong_arguments(name, arg_types, &format!("{name}(<NUMERIC>, <INTEGER>)"))),
    }
}

/// The field of the result: a DECIMAL has the scale of a constant position, and one more digit in front.
pub(super) fn result_field(name: &str, args: &ReturnFieldArgs) -> FieldRef {
    let position = match args.scalar_arguments.get(1) {
        None => Some(0),
        Some(Some(ScalarValue::Int32(position))) => *position,
        Some(_) => None,
    };
    let data_type = match (args.arg_fields[0].data_type(), position) {
        (DataType::Decimal128(precision, scale), Some(position)) if position < i32::from(*scale) => {
            let kept = position.max(0) as i8;
            let digits = 1 + i32::from(*precision) - i32::from(*scale) + i32::from(kept);
            DataType::Decimal128((digits as u8).min(MAX_PRECISION), kept)
        }
        (other, _) => other.clone(),
    };
    Arc::new(Field::new(name, data_type, any_nullable(args.arg_fields)))
}

/// NULL in place of a call whose position is NULL, if the number need not be evaluated.
pub(super) fn null_position(args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
    let null = matches!(args.get(1), Some(Expr::Literal(position, _)) if position.is_null());
    if !null || !cannot_fail(&args[0], context) {
        return Ok(ExprSimplifyResult::Original(args));
    }
    let data_type = args[0].get_type(context.schema().as_ref())?;
    Ok(ExprSimplifyResult::Simplified(Expr::Literal(ScalarValue::try_from(&data_type)?, None)))
}

/// The positions, 0 if there are none.
pub(super) fn positions(args: &ScalarFunctionArgs) -> Result<Integer> {
    if args.args.len() < 2 { Ok(Integer::Constant(Some(0))) } else { Integer::new(args, 1) }
}

/// DECIMALs of which `cut` makes whole numbers of a unit; NULL where the result has too many digits.
pub(super) fn decimals(
    args: &ScalarFunctionArgs,
    numbers: &ArrayRef,
    cut: impl Fn(i128, i128) -> i128,
) -> Result<ArrayRef> {
    let (DataType::Decimal128(_, scale), DataType::Decimal128(precision, kept)) =
        (numbers.data_type(), args.return_field.data_type())
    else {
        return internal_err!("{} of a DECIMAL", args.return_field.data_type());
    };
    let positions = positions(args)?;
    let values = numbers.as_primitive::<Decimal128Type>();
    let dropped = 10_i128.pow(u32::from((scale - kept).unsigned_abs()));
    let row = |row: usize| {
        if values.is_null(row) {
            return None;
        }
        let (value, position) = (values.value(row), positions.get(row)?);
        let digits = u32::try_from(i64::from(*scale) - position).unwrap_or(0);
        let whole = match 10_i128.checked_pow(digits) {
            Some(unit) => cut(value, unit).checked_mul(unit)? / dropped,
            None => 0,
        };
        Some(whole).filter(|whole| fits(*whole, *precision))
    };
    let result: Decimal128Array = (0..args.number_rows).map(row).collect();
    Ok(Arc::new(result.with_data_type(args.return_field.data_type().clone())))
}
