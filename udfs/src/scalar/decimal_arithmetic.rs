//! The arithmetic operators on DECIMAL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array};
use arrow::compute::binary;
use arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef};
use datafusion_common::{Result, ScalarValue, exec_err, internal_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::arguments::{any_nullable, array, result_of, wrong_arguments};
use crate::decimal::{self, MAX_PRECISION, Unscaled};

/// An arithmetic operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DecimalOperator {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Divide,
    /// `%`
    Modulo,
}

/// The precision and scale that a result would have without a limit of 38 digits.
type Digits = (u32, u32);

/// The scale that a result of too many digits keeps at least, if it has it.
const MIN_ADJUSTED_SCALE: u32 = 6;

impl DecimalOperator {
    /// The operators that have a function of their own; that of `%` is [`Modulo`](super::Modulo).
    pub const FUNCTIONS: [Self; 4] = [Self::Plus, Self::Minus, Self::Times, Self::Divide];

    /// The result type by Flink's rules: that of exact arithmetic, or if that has more than 38 digits one of
    /// 38, with a scale that is cut, to 6 at least, to make room for the integer digits. Integers
    /// count as DECIMALs of all their digits.
    pub fn result_type(self, left: &DataType, right: &DataType) -> Result<DataType> {
        let digits = self.digits(digits(left)?, digits(right)?);
        if self == Self::Modulo && digits.1 == 0 {
            return Ok(right.clone());
        }
        let (precision, scale) = adjust(digits);
        match (u8::try_from(precision), i8::try_from(scale)) {
            (Ok(precision), Ok(scale)) => Ok(DataType::Decimal128(precision, scale)),
            _ => internal_err!("{precision} digits are no DECIMAL"),
        }
    }

    fn digits(self, (p1, s1): Digits, (p2, s2): Digits) -> Digits {
        match self {
            Self::Plus | Self::Minus => {
                let scale = s1.max(s2);
                ((p1 - s1).max(p2 - s2) + scale + 1, scale)
            }
            Self::Times => (p1 + p2 + 1, s1 + s2),
            Self::Divide => {
                let scale = MIN_ADJUSTED_SCALE.max(s1 + p2 + 1);
                (p1 - s1 + s2 + scale, scale)
            }
            Self::Modulo => {
                let scale = s1.max(s2);
                ((p1 - s1).min(p2 - s2) + scale, scale)
            }
        }
    }

    /// Whether a result can have too many digits, and then is NULL.
    fn overflows(self, left: Digits, right: Digits) -> bool {
        self.digits(left, right).0 > u32::from(MAX_PRECISION)
    }

    /// The results of two columns of DECIMAL as DECIMALs of `result_type`. Results are rounded half up; what
    /// does not fit is NULL. An error for a divisor of zero.
    pub(super) fn evaluate(
        self,
        left: &ArrayRef,
        right: &ArrayRef,
        result_type: &DataType,
    ) -> Result<ArrayRef> {
        let (Some(left), Some(right)) =
            (left.as_primitive_opt::<Decimal128Type>(), right.as_primitive_opt::<Decimal128Type>())
        else {
            return internal_err!("{self:?} of {} and {}", left.data_type(), right.data_type());
        };
        let DataType::Decimal128(precision, scale) = *result_type else {
            return internal_err!("{self:?} of decimals as {result_type}");
        };
        let (left_scale, right_scale, scale) = (left.scale(), right.scale(), i32::from(scale));
        let results = left.iter().zip(right.iter()).map(|row| {
            let (Some(left), Some(right)) = row else { return Ok(None) };
            let (left, right) = (Unscaled::new(left, left_scale), Unscaled::new(right, right_scale));
            let result = match self {
                Self::Plus => decimal::add(left, right, scale),
                Self::Minus => decimal::subtract(left, right, scale),
                Self::Times => decimal::multiply(left, right, scale),
                Self::Divide | Self::Modulo if right.value == 0 => {
                    return exec_err!(
                        "{}",
                        if left.value == 0 { "Division undefined" } else { "Division by zero" }
                    );
                }
                Self::Divide => decimal::divide(
                    left.value,
                    right.value,
                    scale - i32::from(left_scale) + i32::from(right_scale),
                ),
                Self::Modulo => match decimal::remainder(left, right, scale) {
                    Some(remainder) => Some(remainder),
                    None => {
                        return exec_err!("Division impossible: the quotient of MOD has more than 38 digits");
                    }
                },
            };
            Ok(result.filter(|&value| decimal::fits(value, precision)))
        });
        let results: Decimal128Array = results.collect::<Result<_>>()?;
        Ok(Arc::new(results.with_data_type(result_type.clone())))
    }
}

/// Cuts the scale of a result of too many digits.
fn adjust((precision, scale): Digits) -> Digits {
    let most = u32::from(MAX_PRECISION);
    if precision <= most {
        return (precision, scale);
    }
    let room = most.saturating_sub(precision - scale);
    (most, room.max(scale.min(MIN_ADJUSTED_SCALE)))
}

/// The DECIMAL that a number counts as.
pub(super) fn decimal_type(data_type: &DataType) -> Result<DataType> {
    match data_type {
        DataType::Int8 => Ok(DataType::Decimal128(3, 0)),
        DataType::Int16 => Ok(DataType::Decimal128(5, 0)),
        DataType::Int32 => Ok(DataType::Decimal128(10, 0)),
        DataType::Int64 => Ok(DataType::Decimal128(19, 0)),
        DataType::Decimal128(_, scale) if *scale >= 0 => Ok(data_type.clone()),
        other => internal_err!("{other} is no exact number"),
    }
}

fn digits(data_type: &DataType) -> Result<Digits> {
    match decimal_type(data_type)? {
        DataType::Decimal128(precision, scale) => Ok((u32::from(precision), u32::from(scale.unsigned_abs()))),
        other => internal_err!("{other} is no DECIMAL"),
    }
}

/// An operator on DECIMALs, or on a DECIMAL and an integer, planned as a call: `flink_decimal_plus`,
/// `flink_decimal_minus`, `flink_decimal_times` and `flink_decimal_divide`; `%` is [`Modulo`](super::Modulo).
///
/// A result of more than 38 digits is NULL, a division by zero fails the query.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct DecimalArithmetic {
    operator: DecimalOperator,
    signature: Signature,
}

impl DecimalArithmetic {
    /// The function of an operator.
    pub fn new(operator: DecimalOperator) -> Self {
        Self { operator, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for DecimalArithmetic {
    fn name(&self) -> &str {
        match self.operator {
            DecimalOperator::Plus => "flink_decimal_plus",
            DecimalOperator::Minus => "flink_decimal_minus",
            DecimalOperator::Times => "flink_decimal_times",
            DecimalOperator::Divide => "flink_decimal_divide",
            DecimalOperator::Modulo => "mod",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        match arg_types {
            [left, right] if decimal_type(left).is_ok() && decimal_type(right).is_ok() => {
                Ok(vec![decimal_type(left)?, decimal_type(right)?])
            }
            _ => Err(wrong_arguments(self.name(), arg_types, "<EXACT_NUMERIC>, <EXACT_NUMERIC>")),
        }
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types {
            [left, right] => self.operator.result_type(left, right),
            _ => Err(wrong_arguments(self.name(), arg_types, "<EXACT_NUMERIC>, <EXACT_NUMERIC>")),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let [left, right] = args.arg_fields else {
            return internal_err!("{} takes two arguments", self.name());
        };
        let overflows = self.operator.overflows(digits(left.data_type())?, digits(right.data_type())?);
        let result_type = self.operator.result_type(left.data_type(), right.data_type())?;
        let nullable = overflows || any_nullable(args.arg_fields);
        Ok(Arc::new(Field::new(self.name(), result_type, nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let result_type = args.return_field.data_type();
        if let [left, right] = args.args.as_slice()
            && let Some(exact) = Exact::of(self.operator, left, right, result_type)
        {
            return Ok(ColumnarValue::Array(exact.evaluate(left, right, result_type)?));
        }
        let results = self.operator.evaluate(&array(&args, 0)?, &array(&args, 1)?, result_type)?;
        result_of(&args, results)
    }
}

/// An operation whose results all fit their type, as they are: numbers of a hundredth and a thousandth, say,
/// are added as thousandths.
#[derive(Debug, Clone, Copy)]
struct Exact {
    operator: DecimalOperator,
    /// What the unscaled values are multiplied by before the operation.
    factors: (i128, i128),
}

impl Exact {
    /// `None` where a result may have to be rounded or to become NULL, and for constants only.
    fn of(
        operator: DecimalOperator,
        left: &ColumnarValue,
        right: &ColumnarValue,
        result_type: &DataType,
    ) -> Option<Self> {
        let is_constant = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        if is_constant(left) && is_constant(right) {
            return None;
        }
        let (left, right) = (digits(&left.data_type()).ok()?, digits(&right.data_type()).ok()?);
        let (precision, scale) = operator.digits(left, right);
        if precision > u32::from(MAX_PRECISION)
            || *result_type != DataType::Decimal128(precision.try_into().ok()?, scale.try_into().ok()?)
        {
            return None;
        }
        let factors = match operator {
            DecimalOperator::Plus | DecimalOperator::Minus => {
                (10_i128.checked_pow(scale - left.1)?, 10_i128.checked_pow(scale - right.1)?)
            }
            DecimalOperator::Times => (1, 1),
            DecimalOperator::Divide | DecimalOperator::Modulo => return None,
        };
        Some(Exact { operator, factors })
    }

    fn evaluate(
        self,
        left: &ColumnarValue,
        right: &ColumnarValue,
        result_type: &DataType,
    ) -> Result<ArrayRef> {
        let decimals = |array: &ArrayRef| array.as_primitive::<Decimal128Type>().clone();
        let (l, r) = self.factors;
        let operate = |left: i128, right: i128| match self.operator {
            DecimalOperator::Plus => left.wrapping_mul(l).wrapping_add(right.wrapping_mul(r)),
            DecimalOperator::Minus => left.wrapping_mul(l).wrapping_sub(right.wrapping_mul(r)),
            _ => left.wrapping_mul(right),
        };
        let results: Decimal128Array = match (left, right) {
            (ColumnarValue::Array(left), ColumnarValue::Array(right)) => {
                binary(&decimals(left), &decimals(right), operate)?
            }
            (ColumnarValue::Scalar(constant), ColumnarValue::Array(column))
            | (ColumnarValue::Array(column), ColumnarValue::Scalar(constant)) => {
                let is_left = matches!(left, ColumnarValue::Scalar(_));
                match constant {
                    ScalarValue::Decimal128(Some(value), _, _) if is_left => {
                        decimals(column).unary(|other| operate(*value, other))
                    }
                    ScalarValue::Decimal128(Some(value), _, _) => {
                        decimals(column).unary(|other| operate(other, *value))
                    }
                    _ => Decimal128Array::new_null(column.len()),
                }
            }
            _ => return internal_err!("{:?} of constants", self.operator),
        };
        Ok(Arc::new(results.with_data_type(result_type.clone())))
    }
}
