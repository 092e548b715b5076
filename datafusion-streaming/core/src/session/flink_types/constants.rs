//! Constants that are not folded yet.

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Cast, Expr};

/// The number that a constant stands for: a literal, negated or cast to a number. Casts that change the number by
/// more than rounding it to a FLOAT are not looked through.
pub(super) fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Alias(alias) => number(&alias.expr),
        Expr::Negative(operand) => number(operand).map(|number| -number),
        Expr::Literal(ScalarValue::Utf8(Some(text)), _) => text.trim().parse().ok(),
        Expr::Literal(value, _) if value.data_type().is_numeric() => {
            match value.cast_to(&DataType::Float64) {
                Ok(ScalarValue::Float64(number)) => number,
                _ => None,
            }
        }
        Expr::Cast(Cast { expr, field }) => {
            number(expr).and_then(|number| as_type(number, field.data_type()))
        }
        Expr::ScalarFunction(function) if function.func.name() == "flink_cast" => {
            number(function.args.first()?)
                .and_then(|number| as_type(number, function.func.return_type(&[]).as_ref().ok()?))
        }
        _ => None,
    }
}

fn as_type(number: f64, data_type: &DataType) -> Option<f64> {
    match data_type {
        DataType::Float64 => Some(number),
        DataType::Float32 => Some(f64::from(number as f32)),
        other if other.is_numeric() && number == number.trunc() => Some(number),
        _ => None,
    }
}

/// A literal that is cast to another exact type which holds it, as the literal of that type. DataFusion reads `5` as
/// a BIGINT, and `0.5` with fewer digits than were written.
pub(super) fn cast_literal(expr: &Expr, target: &DataType) -> Option<Expr> {
    let Expr::Literal(value, metadata) = expr else { return None };
    let literal = |value| Some(Expr::Literal(value, metadata.clone()));
    match (value, target) {
        (ScalarValue::Int64(Some(number)), DataType::Int32) => {
            literal(ScalarValue::Int32(Some(i32::try_from(*number).ok()?)))
        }
        (ScalarValue::Decimal128(Some(number), digits, scale), DataType::Decimal128(precision, to_scale))
            if scale == to_scale && digits <= precision =>
        {
            literal(ScalarValue::Decimal128(Some(*number), *precision, *scale))
        }
        _ => None,
    }
}
