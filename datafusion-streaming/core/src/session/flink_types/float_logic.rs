//! ANDs and ORs of comparisons of a floating number with constants, which Flink's optimizer makes one of. What it
//! makes is not the same for NaN and -0.0.
//!
//! | written | becomes |
//! |---|---|
//! | `x = 1e0 OR x = 2e0` | `x IN (1e0, 2e0)`, by the bits of the numbers |
//! | `x <> 1e0 AND x <> 2e0` | `NOT x IN (1e0, 2e0)` |
//! | `x < 1e0 OR x >= 1e0` | TRUE, for NaN too, or NULL |
//! | `x < 1e0 OR x > 1e0` | `x <> 1e0` |
//! | `x < 0.5 OR x > 1` | both compared in the total order, in which a DECIMAL is compared: true for NaN |
//! | `x > 0.5 OR x = 1.5` | both compared as DOUBLE, as `=` does: false for NaN |

use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, lit, when};
use datafusion_streaming_udfs::scalar::{FloatComparison, FloatOperator, float_in};

use super::constants::number;
use super::{call, call_udf};

/// What an operand of an AND or OR says of a number.
enum Term<'a> {
    /// A comparison with a finite constant.
    Compared(&'a Expr, FloatOperator, &'a Expr, f64),
    /// IN, or if `negated` NOT IN.
    Found { args: &'a [Expr], negated: bool },
}

impl<'a> Term<'a> {
    fn of(expr: &'a Expr) -> Option<Self> {
        match expr {
            Expr::ScalarFunction(function) if function.func.name() == "flink_float_in" => {
                Some(Self::Found { args: &function.args, negated: false })
            }
            Expr::ScalarFunction(function) => {
                let operator = function.func.inner().downcast_ref::<FloatComparison>()?.operator();
                let [left, right] = function.args.as_slice() else { return None };
                let finite = |expr| number(expr).filter(|number: &f64| number.is_finite());
                match (finite(left), finite(right)) {
                    (None, Some(number)) => Some(Self::Compared(left, operator, right, number)),
                    (Some(number), None) => Some(Self::Compared(right, operator.mirrored(), left, number)),
                    _ => None,
                }
            }
            Expr::Not(operand) => match Self::of(operand)? {
                Self::Found { args, negated } => Some(Self::Found { args, negated: !negated }),
                Self::Compared(..) => None,
            },
            _ => None,
        }
    }

    /// The number, and the constants that it is equal to, or if `negated` different from.
    fn points(&self, negated: bool) -> Option<(&'a Expr, Vec<&'a Expr>)> {
        let wanted = if negated { FloatOperator::NotEqual } else { FloatOperator::Equal };
        match self {
            Self::Compared(operand, operator, constant, _) if *operator == wanted => {
                Some((operand, vec![constant]))
            }
            Self::Found { args, negated: of } if *of == negated => {
                args.split_first().map(|(operand, constants)| (operand, constants.iter().collect()))
            }
            _ => None,
        }
    }
}

/// `left AND right` or `left OR right`, if Flink's optimizer makes one predicate of `right` and an operand of `left`.
pub(super) fn merged(left: &Expr, op: Operator, right: &Expr) -> Result<Option<Expr>> {
    if let Expr::BinaryExpr(BinaryExpr { left: first, op: joined_by, right: second }) = left
        && *joined_by == op
    {
        let joined =
            |left, right| Expr::BinaryExpr(BinaryExpr { left: Box::new(left), op, right: Box::new(right) });
        if let Some(second) = merged(second, op, right)? {
            return Ok(Some(joined(first.as_ref().clone(), second)));
        }
        return Ok(merged(first, op, right)?.map(|first| joined(first, second.as_ref().clone())));
    }
    match one_predicate(left, op, right)? {
        Some(merged) => Ok(Some(merged)),
        None => Ok(in_one_order(left, op, right)),
    }
}

/// The one predicate that two become.
fn one_predicate(left: &Expr, op: Operator, right: &Expr) -> Result<Option<Expr>> {
    let (Some(left), Some(right)) = (Term::of(left), Term::of(right)) else { return Ok(None) };
    let negated = op == Operator::And;
    if let (Some((operand, mut constants)), Some((other, more))) =
        (left.points(negated), right.points(negated))
    {
        if operand != other || operand.is_volatile() {
            return Ok(None);
        }
        let known = |constant: &Expr| number(constant).map(|number| number + 0.0);
        for constant in more {
            if constants.iter().all(|earlier| known(earlier) != known(constant)) {
                constants.push(constant);
            }
        }
        return Ok(Some(points(operand, constants.into_iter().cloned().collect(), negated)));
    }
    if op != Operator::Or {
        return Ok(None);
    }
    let (Term::Compared(operand, operator, constant, from), Term::Compared(other, other_operator, _, to)) =
        (left, right)
    else {
        return Ok(None);
    };
    if operand != other || operand.is_volatile() {
        return Ok(None);
    }
    let (below, above) = match (operator.is_upper_bound(), other_operator.is_lower_bound()) {
        (true, true) => ((from, operator), (to, other_operator)),
        _ if operator.is_lower_bound() && other_operator.is_upper_bound() => {
            ((to, other_operator), (from, operator))
        }
        _ => return Ok(None),
    };
    let inclusive = below.1 == FloatOperator::LessOrEqual || above.1 == FloatOperator::GreaterOrEqual;
    if below.0 > above.0 || below.0 == above.0 && inclusive {
        let unknown = lit(ScalarValue::Boolean(None));
        return when(operand.clone().is_null(), unknown).otherwise(lit(true)).map(Some);
    }
    let hole = below.0 == above.0;
    Ok(hole.then(|| {
        call(FloatComparison::new(FloatOperator::NotEqual), vec![operand.clone(), constant.clone()])
    }))
}

/// How Flink compares a number with constants that it has put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    /// With an integer: as with whatever else it stands beside.
    Any,
    /// With a DECIMAL: in the total order.
    Total,
    /// With a DOUBLE, or for equality.
    Double,
}

/// What a comparison with a constant asks for, as it was written.
fn order_of(comparison: &Expr) -> Option<(&Expr, Order)> {
    let Expr::ScalarFunction(function) = comparison else { return None };
    let float = function.func.inner().downcast_ref::<FloatComparison>()?;
    let [left, right] = function.args.as_slice() else { return None };
    let finite = |expr| number(expr).is_some_and(f64::is_finite);
    let (operand, constant) = match (finite(left), finite(right)) {
        (false, true) => (left, right),
        (true, false) => (right, left),
        _ => return None,
    };
    let order = match float.is_total() {
        true => Order::Total,
        false if float.operator().is_order() && is_integer(constant) => Order::Any,
        false => Order::Double,
    };
    Some((operand, order))
}

/// Whether a constant was written as an integer.
fn is_integer(constant: &Expr) -> bool {
    match constant {
        Expr::Alias(alias) => is_integer(&alias.expr),
        Expr::Negative(operand) => is_integer(operand),
        Expr::Literal(value, _) => value.data_type().is_integer(),
        Expr::Cast(cast) => is_integer(&cast.expr),
        Expr::ScalarFunction(function) if function.func.name() == "flink_cast" => {
            function.args.first().is_some_and(is_integer)
        }
        _ => false,
    }
}

/// Two comparisons of one number with constants, both in the order that these have in common; `None` if they are so already.
fn in_one_order(left: &Expr, op: Operator, right: &Expr) -> Option<Expr> {
    let ((operand, left_order), (other, right_order)) = (order_of(left)?, order_of(right)?);
    if operand != other || operand.is_volatile() {
        return None;
    }
    let order = left_order.max(right_order);
    let (left, left_changed) = compared_in(left, order)?;
    let (right, right_changed) = compared_in(right, order)?;
    let joined = Expr::BinaryExpr(BinaryExpr { left: Box::new(left), op, right: Box::new(right) });
    (left_changed || right_changed).then_some(joined)
}

/// A comparison in this order, and whether it was in another.
fn compared_in(comparison: &Expr, order: Order) -> Option<(Expr, bool)> {
    let Expr::ScalarFunction(function) = comparison else { return None };
    let float = function.func.inner().downcast_ref::<FloatComparison>()?;
    let total = order == Order::Total && float.operator().is_order();
    if total == float.is_total() {
        return Some((comparison.clone(), false));
    }
    let wanted = if total { FloatComparison::total } else { FloatComparison::new };
    Some((call(wanted(float.operator()), function.args.clone()), true))
}

/// `x IN (…)` or `x NOT IN (…)` of finite constants, which are looked up by their bits where they are several.
pub(super) fn points(operand: &Expr, constants: Vec<Expr>, negated: bool) -> Expr {
    let mut args = vec![operand.clone()];
    args.extend(constants);
    if args.len() == 2 {
        let operator = if negated { FloatOperator::NotEqual } else { FloatOperator::Equal };
        return call(FloatComparison::new(operator), args);
    }
    let found = call_udf(float_in(), args);
    if negated { Expr::Not(Box::new(found)) } else { found }
}
