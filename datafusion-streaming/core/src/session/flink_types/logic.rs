//! AND, OR and NOT, and tests for NULL.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Case, Cast, Expr, ExprSchemable, Operator, ScalarUDF, lit, when};
use datafusion_streaming_udfs::scalar::{DecimalArithmetic, FloatComparison};

use super::kinds::is_text;
use super::{call, float_logic, refuse_null};

/// `a AND b`, or `a OR b`. Where `b` may fail it is evaluated only for the rows for which `a` does not tell the
/// answer, as in Flink. `a` stays an operand of its own, by which filters are pushed down and Top-N is found.
pub(super) fn connective(
    left: Expr,
    op: Operator,
    right: Expr,
    schema: &DFSchema,
) -> Result<Transformed<Expr>> {
    refuse_null(&left)?;
    refuse_null(&right)?;
    if let Some(merged) = float_logic::merged(&left, op, &right)? {
        return Ok(Transformed::yes(merged));
    }
    if let Some(never) = contradiction(&left, op, &right, schema)? {
        return Ok(Transformed::yes(never));
    }
    let (clear, answer) = match op {
        Operator::And => (left.clone().is_false(), lit(0_i8)),
        _ => (left.clone().is_true(), lit(1_i8)),
    };
    let both =
        |left, right| Expr::BinaryExpr(BinaryExpr { left: Box::new(left), op, right: Box::new(right) });
    if is_guarded(&right, &clear) || left.get_type(schema).is_err() || !may_fail(&right, schema) {
        return Ok(Transformed::no(both(left, right)));
    }
    // A CASE of numbers, since DataFusion makes of a CASE of conditions ANDs and ORs again, which evaluate all rows.
    let number = Expr::Cast(Cast::new(Box::new(right), DataType::Int8));
    let chosen = when(clear, answer).otherwise(number)?;
    let right = Expr::Cast(Cast::new(Box::new(chosen), DataType::Boolean));
    Ok(Transformed::yes(both(left, right)))
}

/// `x IN (…) AND x IN (…)`, where the lists have nothing in common, and the like: FALSE, or NULL if `x` is.
/// DataFusion would make FALSE of it also where `x` is NULL.
fn contradiction(left: &Expr, op: Operator, right: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    let (Expr::InList(left), Expr::InList(right)) = (left, right) else { return Ok(None) };
    if left.expr != right.expr || !left.expr.nullable(schema).unwrap_or(true) {
        return Ok(None);
    }
    let both = |first: &InList, second: &InList, wanted: bool| {
        !first.list.iter().any(|item| second.list.contains(item) == wanted)
    };
    let nothing_left = match (op, left.negated, right.negated) {
        (Operator::And, false, false) | (Operator::Or, true, true) => both(left, right, true),
        (Operator::And, false, true) => both(left, right, false),
        (Operator::And, true, false) => both(right, left, false),
        _ => false,
    };
    let constants = left
        .list
        .iter()
        .chain(&right.list)
        .all(|item| matches!(item, Expr::Literal(value, _) if !value.is_null()));
    if !nothing_left || !constants {
        return Ok(None);
    }
    let unknown = lit(ScalarValue::Boolean(None));
    when(left.expr.as_ref().clone().is_null(), unknown).otherwise(lit(op == Operator::Or)).map(Some)
}

/// Whether a condition is what [`connective`] makes of it.
fn is_guarded(condition: &Expr, clear: &Expr) -> bool {
    let Expr::Cast(Cast { expr, .. }) = condition else { return false };
    matches!(expr.as_ref(), Expr::Case(Case { when_then_expr, .. })
        if when_then_expr.first().is_some_and(|(guard, _)| guard.as_ref() == clear))
}

/// Whether evaluating an expression may be an error: a division of exact numbers by something that may be zero, or a
/// cast of text.
pub(super) fn may_fail(expr: &Expr, schema: &DFSchema) -> bool {
    expr.exists(|part| {
        Ok(match part {
            Expr::BinaryExpr(BinaryExpr { right, op: Operator::Divide | Operator::Modulo, .. }) => {
                !is_nonzero(right) && right.get_type(schema).is_ok_and(|divisor| divisor.is_signed_integer())
            }
            Expr::ScalarFunction(function) => match function.func.name() {
                "mod" | "flink_integer_divide" => !function.args.get(1).is_some_and(is_nonzero),
                "flink_cast" => function.args.first().is_some_and(|arg| {
                    arg.get_type(schema).is_ok_and(|from| is_text(&from)) && !arg.column_refs().is_empty()
                }),
                "element" | "to_timestamp_ltz" | "from_base64" => true,
                _ => false,
            },
            _ => false,
        })
    })
    .unwrap_or(true)
}

/// Whether an expression is a constant that is not zero.
fn is_nonzero(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => {
            !value.is_null() && ScalarValue::new_zero(&value.data_type()).is_ok_and(|zero| &zero != value)
        }
        Expr::Cast(cast) => is_nonzero(&cast.expr),
        Expr::ScalarFunction(function) if function.func.name() == "flink_cast" => {
            function.args.first().is_some_and(is_nonzero)
        }
        _ => false,
    }
}

/// `NOT x`. Of a comparison of floating numbers it is the opposite one, which for NaN is not the same, and it goes
/// into ANDs and ORs that have one, as in Flink's optimizer.
pub(super) fn negation(operand: Box<Expr>) -> Result<Transformed<Expr>> {
    refuse_null(&operand)?;
    if !compares_floats(&operand) {
        return Ok(Transformed::no(Expr::Not(operand)));
    }
    Ok(Transformed::yes(negated(*operand)))
}

fn negated(expr: Expr) -> Expr {
    match expr {
        Expr::ScalarFunction(function) => match float_comparison(&function.func) {
            Some(comparison) => {
                call(comparison.with_operator(comparison.operator().negated()), function.args)
            }
            None => Expr::Not(Box::new(Expr::ScalarFunction(function))),
        },
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
            let op = if op == Operator::And { Operator::Or } else { Operator::And };
            let (left, right) = (Box::new(negated(*left)), Box::new(negated(*right)));
            Expr::BinaryExpr(BinaryExpr { left, op, right })
        }
        Expr::Not(operand) => *operand,
        other => Expr::Not(Box::new(other)),
    }
}

fn float_comparison(function: &ScalarUDF) -> Option<&FloatComparison> {
    function.inner().downcast_ref::<FloatComparison>()
}

/// Whether an expression is a comparison of floating numbers, or made of such by AND and OR.
fn compares_floats(expr: &Expr) -> bool {
    match expr {
        Expr::ScalarFunction(function) => float_comparison(&function.func).is_some(),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And | Operator::Or, right }) => {
            compares_floats(left) || compares_floats(right)
        }
        _ => false,
    }
}

/// `x IS NULL`. Flink's optimizer takes a sum for NULL where one of its operands is, and so misses one that does not
/// fit its type.
pub(super) fn null_test(operand: Expr, null: bool) -> Transformed<Expr> {
    match operand {
        Expr::ScalarFunction(mut function)
            if function.args.len() == 2
                && function.func.inner().downcast_ref::<DecimalArithmetic>().is_some() =>
        {
            let (right, left) =
                (function.args.pop().unwrap_or_default(), function.args.pop().unwrap_or_default());
            let (left, right) = (null_test(left, null).data, null_test(right, null).data);
            Transformed::yes(if null { left.or(right) } else { left.and(right) })
        }
        operand if null => Transformed::no(Expr::IsNull(Box::new(operand))),
        operand => Transformed::no(Expr::IsNotNull(Box::new(operand))),
    }
}
