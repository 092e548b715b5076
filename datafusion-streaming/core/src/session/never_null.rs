//! Columns of a result that Flink says are NOT NULL.

use datafusion::common::Result;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::expr::{Alias, ScalarFunction};
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, LogicalPlan, Projection, lit};
use datafusion_streaming_udfs::scalar::{DecimalArithmetic, not_null};

/// The plan of a query, whose result is refused where a sum of DECIMAL constants does not fit its type: that is NULL,
/// and in Flink of a type that is NOT NULL.
pub(super) fn refuse_null_constants(plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Projection(projection) = plan else { return Ok(plan) };
    let Projection { expr, input, .. } = projection;
    let expr = expr.into_iter().map(checked).collect::<Result<_>>()?;
    Projection::try_new(expr, input).map(LogicalPlan::Projection)
}

fn checked(column: Expr) -> Result<Expr> {
    let Expr::Alias(Alias { expr, name, relation, metadata }) = column else { return Ok(column) };
    let is_arithmetic = |part: &Expr| match part {
        Expr::ScalarFunction(function) => is_decimal_arithmetic(function),
        _ => false,
    };
    let expr = if is_never_null(&expr) && expr.exists(|part| Ok(is_arithmetic(part)))? {
        Box::new(not_null().call(vec![*expr, lit(name.clone())]))
    } else {
        expr
    };
    Ok(Expr::Alias(Alias { expr, name, relation, metadata }))
}

fn is_decimal_arithmetic(function: &ScalarFunction) -> bool {
    function.func.inner().downcast_ref::<DecimalArithmetic>().is_some()
}

/// Whether an expression is made of constants that are not NULL by casts and arithmetic.
fn is_never_null(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => !value.is_null(),
        Expr::Cast(Cast { expr, .. }) | Expr::Negative(expr) => is_never_null(expr),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            op.is_numerical_operators() && is_never_null(left) && is_never_null(right)
        }
        Expr::ScalarFunction(function) => {
            is_decimal_arithmetic(function) && function.args.iter().all(is_never_null)
        }
        _ => false,
    }
}
