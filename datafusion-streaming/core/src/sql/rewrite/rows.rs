//! Predicates on rows, in terms of predicates on single values.

use std::mem;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, SelectItem, SetExpr, TableAlias, TableAliasColumnDef, Value,
};

use super::projection::no_rows;
use crate::sql::ast::{call, derived, query_of, quoted, select_of};

/// `(a, b) OVERLAPS (c, d)` is `flink_overlaps(a, b, c, d)`.
pub(super) fn expand_overlaps(expr: &mut Expr) {
    if let Expr::BinaryOp { left, op: BinaryOperator::Overlaps, right } = expr
        && let (Expr::Tuple(left), Expr::Tuple(right)) = (left.as_mut(), right.as_mut())
    {
        let args = left.drain(..).chain(right.drain(..)).collect();
        *expr = call("flink_overlaps", args);
    }
}

/// `(a, b) = (c, d)` is `(a = c AND b = d)`, and so unknown where a value is NULL; two rows of DataFusion's
/// would be compared as a whole.
pub(super) fn expand_equality(expr: &mut Expr) {
    let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = expr else { return };
    let (Expr::Tuple(left), Expr::Tuple(right)) = (left.as_mut(), right.as_mut()) else { return };
    if left.len() != right.len() {
        return;
    }
    let binary = |left, op, right| Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) };
    let pairs = mem::take(left).into_iter().zip(mem::take(right));
    let equal = pairs.map(|(left, right)| binary(left, BinaryOperator::Eq, right));
    if let Some(all) = equal.reduce(|left, right| binary(left, BinaryOperator::And, right)) {
        *expr = Expr::Nested(Box::new(all));
    }
}

/// In a condition, `(a, b) IN (SELECT x, y FROM t)` is `EXISTS (SELECT 1 FROM (SELECT x, y FROM t) AS s (x, y)
/// WHERE s.x = a AND s.y = b)`, and `NOT IN` is `NOT EXISTS (… WHERE (s.x = a AND s.y = b) IS NOT FALSE)`: what is
/// unknown is filtered out like what is false. Below other operators it is not, so only what the condition is a
/// conjunction of is rewritten.
pub(super) fn expand_row_in(condition: &mut Expr) {
    match condition {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            expand_row_in(left);
            expand_row_in(right);
        }
        Expr::Nested(inner) => expand_row_in(inner),
        Expr::InSubquery { expr, subquery, negated } => {
            let negated = *negated;
            let Expr::Tuple(values) = expr.as_mut() else { return };
            // Names that no column has, since the row's own must not be taken for the subquery's.
            let columns: Vec<_> = (0..values.len()).map(|i| quoted(format!("$row{i}"))).collect();
            let equal = |(column, value)| Expr::BinaryOp {
                left: Box::new(Expr::Identifier(column)),
                op: BinaryOperator::Eq,
                right: Box::new(value),
            };
            let both = |left, right| Expr::BinaryOp {
                left: Box::new(left),
                op: BinaryOperator::And,
                right: Box::new(right),
            };
            let mut selection = columns.iter().cloned().zip(mem::take(values)).map(equal).reduce(both);
            if negated {
                selection = selection.map(|equal| Expr::IsNotFalse(Box::new(Expr::Nested(Box::new(equal)))));
            }
            let alias = TableAlias {
                explicit: true,
                name: quoted("$row"),
                columns: columns
                    .into_iter()
                    .map(|name| TableAliasColumnDef { name, data_type: None })
                    .collect(),
                at: None,
            };
            let subquery = mem::replace(subquery, query_of(no_rows()));
            let one = SelectItem::UnnamedExpr(Expr::value(Value::Number("1".into(), false)));
            let mut exists = select_of(vec![one], Some(derived(subquery, Some(alias))));
            if let SetExpr::Select(select) = &mut exists {
                select.selection = selection;
            }
            *condition = Expr::Exists { subquery: query_of(exists), negated };
        }
        _ => {}
    }
}
