//! Which operands need not be evaluated.

use datafusion_expr::simplify::SimplifyContext;
use datafusion_expr::{BinaryExpr, Cast, Expr, ExprSchemable, Operator};

/// Whether evaluating an expression can be no error, so that a function whose answer does not depend on it may be folded: columns, literals, and
/// what `+`, `-`, `*` and widening casts make of integers. A division, a remainder, a narrowing cast and any function may fail.
pub(super) fn cannot_fail(expr: &Expr, context: &SimplifyContext) -> bool {
    let is_integer = |expr: &Expr| {
        expr.get_type(context.schema().as_ref()).is_ok_and(|data_type| data_type.is_signed_integer())
    };
    match expr {
        Expr::Column(_) | Expr::Literal(_, _) => true,
        Expr::Alias(alias) => cannot_fail(&alias.expr, context),
        Expr::Negative(operand) => is_integer(operand) && cannot_fail(operand, context),
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Plus | Operator::Minus | Operator::Multiply,
            right,
        }) => [left, right].into_iter().all(|side| is_integer(side) && cannot_fail(side, context)),
        Expr::Cast(Cast { expr, field }) => {
            let widening = expr.get_type(context.schema().as_ref()).is_ok_and(|from| {
                from.is_signed_integer()
                    && field.data_type().is_signed_integer()
                    && from.primitive_width() <= field.data_type().primitive_width()
            });
            widening && cannot_fail(expr, context)
        }
        _ => false,
    }
}
