//! The arithmetic operators.

use std::ops::Add;

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, Operator};
use datafusion_streaming_udfs::scalar::{
    DecimalArithmetic, DecimalOperator, Modulo, Shift, integer_division, interval_times,
};
use datafusion_streaming_udfs::timestamps::is_wide_timestamp;
use datafusion_streaming_udfs::types::type_name;

use super::exact::exact_type;
use super::kinds::{is_datetime, is_decimal, is_exact, is_float, is_interval};
use super::{Operation, call, call_udf, is_constant};
use crate::sql::TypeKind;

pub(super) fn arithmetic(
    operation: Operation,
    left: &DataType,
    right: &DataType,
    schema: &DFSchema,
) -> Result<Transformed<Expr>> {
    let op = operation.op;
    let refused = |wanted: &str| {
        plan_err!(
            "Cannot apply '{op}' to arguments of type '<{}> {op} <{}>'. Supported form(s): '<{wanted}> {op} <{wanted}>'",
            type_name(left),
            type_name(right)
        )
    };
    if is_datetime(left) && (is_exact(right) || is_float(right) || is_datetime(right)) {
        return refused("NUMERIC");
    }
    if op == Operator::Modulo && (is_float(left) || is_float(right)) {
        return refused("EXACT_NUMERIC");
    }
    if is_interval(left) || is_interval(right) {
        return intervals(operation, left, right, schema);
    }
    if op == Operator::Divide
        && (is_float(left) || is_float(right))
        && is_constant(&operation.left)
        && is_zero(&operation.right)
    {
        return plan_err!("Division by zero: {} / {}", operation.left, operation.right);
    }
    let decimal = (is_decimal(left) || is_decimal(right)) && is_exact(left) && is_exact(right);
    Ok(Transformed::yes(match op {
        Operator::Modulo if is_exact(left) && is_exact(right) && (decimal || left != right) => {
            operation.call(Modulo::default())
        }
        Operator::Plus if decimal => operation.call(DecimalArithmetic::new(DecimalOperator::Plus)),
        Operator::Minus if decimal => operation.call(DecimalArithmetic::new(DecimalOperator::Minus)),
        Operator::Multiply if decimal => operation.call(DecimalArithmetic::new(DecimalOperator::Times)),
        Operator::Divide if decimal => operation.call(DecimalArithmetic::new(DecimalOperator::Divide)),
        _ if (is_decimal(left) && is_float(right)) || (is_float(left) && is_decimal(right)) => {
            operation.cast_to(&DataType::Float64, left, right).plain()
        }
        // computed as DOUBLE, but what stands on the left gives the type
        _ if left == &DataType::Float32 && right == &DataType::Float64 => {
            let double = Box::new(operation.cast_to(&DataType::Float64, left, right).plain());
            Expr::Cast(Cast::new(double, DataType::Float32))
        }
        Operator::Divide if left.is_signed_integer() && right.is_signed_integer() => {
            call_udf(integer_division(), vec![*operation.left, *operation.right])
        }
        // a constant of Flink's optimizer has no negative zero
        Operator::Divide if is_float(right) && is_unsigned(&operation) => {
            let zero = ScalarValue::new_zero(right)?;
            let right = Box::new(operation.right.add(Expr::Literal(zero, None)));
            Operation { right, ..operation }.plain()
        }
        // Flink's optimizer takes a zero away, so that -0.0 keeps its sign
        Operator::Plus if is_float(left) && left == right && is_zero(&operation.right) => *operation.left,
        _ => return Ok(Transformed::no(operation.plain())),
    }))
}

/// Whether what an operation divides by is a constant that loses the sign of its zero.
fn is_unsigned(operation: &Operation) -> bool {
    let right = operation.right.as_ref();
    let sum = matches!(right, Expr::BinaryExpr(BinaryExpr { op: Operator::Plus, .. }));
    is_constant(right) && !sum && !matches!(right, Expr::Literal(_, _))
}

/// Whether an expression is a literal zero, in whatever type.
fn is_zero(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => match value {
            // negative zero is none: it stays
            ScalarValue::Float64(Some(value)) => value.to_bits() == 0,
            ScalarValue::Float32(Some(value)) => value.to_bits() == 0,
            ScalarValue::Utf8(Some(text)) => text.parse::<f64>().is_ok_and(|value| value.to_bits() == 0),
            value => ScalarValue::new_zero(&value.data_type()).is_ok_and(|zero| &zero == value),
        },
        Expr::Cast(Cast { expr, .. }) => is_zero(expr),
        Expr::ScalarFunction(function) if function.func.name() == "flink_cast" => {
            function.args.first().is_some_and(is_zero)
        }
        _ => false,
    }
}

fn intervals(
    operation: Operation,
    left: &DataType,
    right: &DataType,
    schema: &DFSchema,
) -> Result<Transformed<Expr>> {
    let op = operation.op;
    match (is_interval(left), is_interval(right)) {
        (true, true) => {
            let kinds =
                [&operation.left, &operation.right].map(|side| exact_type(side, schema).map(|t| t.kind));
            if let [Ok(left), Ok(right)] = kinds
                && (left == TypeKind::IntervalMonths) != (right == TypeKind::IntervalMonths)
            {
                return plan_err!(
                    "Cannot apply '{op}' to arguments of type '<{left}> {op} <{right}>'. \
                     Supported form(s): '<NUMERIC> {op} <NUMERIC>'"
                );
            }
            Ok(Transformed::no(operation.plain()))
        }
        (true, false) if op == Operator::Multiply && right.is_signed_integer() => {
            Ok(Transformed::yes(call_udf(interval_times(), vec![*operation.left, *operation.right])))
        }
        (false, true) if op == Operator::Multiply && left.is_signed_integer() => {
            Ok(Transformed::yes(call_udf(interval_times(), vec![*operation.right, *operation.left])))
        }
        (true, false) if is_wide_timestamp(right) && op == Operator::Plus => {
            Ok(Transformed::yes(call(Shift::new(false), vec![*operation.right, *operation.left])))
        }
        (false, true) if is_wide_timestamp(left) && matches!(op, Operator::Plus | Operator::Minus) => {
            Ok(Transformed::yes(operation.call(Shift::new(op == Operator::Minus))))
        }
        (false, true) => Ok(finer(operation, left, schema)),
        _ => Ok(Transformed::no(operation.plain())),
    }
}

/// A TIMESTAMP(0) plus an interval of milliseconds has milliseconds.
fn finer(operation: Operation, time: &DataType, schema: &DFSchema) -> Transformed<Expr> {
    let DataType::Timestamp(TimeUnit::Second, zone) = time else { return Transformed::no(operation.plain()) };
    let whole = match operation.right.as_ref() {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(value)), _) => {
            value.nanoseconds % 1_000_000_000 == 0
        }
        other => exact_type(other, schema).is_ok_and(|interval| interval.kind == TypeKind::IntervalMonths),
    };
    if whole {
        return Transformed::no(operation.plain());
    }
    let millis = DataType::Timestamp(TimeUnit::Millisecond, zone.clone());
    let left = Box::new(Expr::Cast(Cast::new(operation.left, millis)));
    Transformed::yes(Operation { left, ..operation }.plain())
}
