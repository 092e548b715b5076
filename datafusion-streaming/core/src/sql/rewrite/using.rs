//! `JOIN … USING (k)`, where the `k` of the result is not simply that of the left side.
//!
//! Everywhere `k` is the left `k`, after a RIGHT JOIN the right one, and after a FULL JOIN whichever is there.
//! DataFusion takes the left one always, and does not know which if there are several such joins.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, ReplaceSelectElement,
    ReplaceSelectItem, Select, SelectItem, TableFactor, TableWithJoins,
};

use super::columns::each_column;
use crate::sql::ast::{call, quoted};

/// Makes `ON l.k = r.k` of `USING (k)`, and the value it should have of every `k` in the SELECT.
///
/// Only where DataFusion would go wrong, and where all joined tables have names. A `*` keeps USING, which says
/// that `k` is one column, and gets the value by REPLACE; that goes for one join, not for more.
pub(super) fn resolve(select: &mut Select) {
    let [TableWithJoins { relation, joins }] = select.from.as_mut_slice() else { return };
    let Some(merged) = merge(relation, joins) else { return };
    let is_star = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_));
    if !select.projection.iter().any(is_star) {
        for (join, condition) in joins.iter_mut().zip(merged.conditions) {
            if let (Some(constraint), Some(condition)) = (constraint_mut(&mut join.join_operator), condition)
            {
                *constraint = JoinConstraint::On(condition);
            }
        }
    } else if joins.len() > 1 {
        return;
    }
    for item in &mut select.projection {
        match item {
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
                if let Some(expr) = value_of(&merged.columns, &name.value) {
                    *item = SelectItem::ExprWithAlias { expr, alias: name.clone() };
                }
            }
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                each_column(expr, |name| value_of(&merged.columns, name));
            }
            SelectItem::Wildcard(options) => {
                let element = |(name, expr): &(String, Expr)| {
                    let (expr, column_name) = (expr.clone(), quoted(name));
                    Box::new(ReplaceSelectElement { expr, column_name, as_keyword: true })
                };
                let items = merged.columns.iter().map(element).collect();
                options.opt_replace = Some(ReplaceSelectItem { items });
            }
            _ => {}
        }
    }
    each_column(&mut select.selection, |name| value_of(&merged.columns, name));
    each_column(&mut select.group_by, |name| value_of(&merged.columns, name));
    each_column(&mut select.having, |name| value_of(&merged.columns, name));
    each_column(&mut select.named_window, |name| value_of(&merged.columns, name));
    each_column(&mut select.qualify, |name| value_of(&merged.columns, name));
}

/// What the joins make of the columns in USING.
struct Merged {
    /// Their values in the result.
    columns: Vec<(String, Expr)>,
    /// The condition of each join, if it is given by USING.
    conditions: Vec<Option<Expr>>,
}

fn value_of(columns: &[(String, Expr)], name: &str) -> Option<Expr> {
    columns.iter().find(|(column, _)| column == name).map(|(_, value)| value.clone())
}

/// `None` if there is nothing to do, or not enough known.
fn merge(relation: &TableFactor, joins: &[Join]) -> Option<Merged> {
    let mut merged = Merged { columns: vec![], conditions: vec![] };
    let (mut of_using, mut is_plain) = (0, true);
    for (i, join) in joins.iter().enumerate() {
        let Some(JoinConstraint::Using(columns)) = constraint(&join.join_operator) else {
            merged.conditions.push(None);
            continue;
        };
        of_using += 1;
        is_plain &= !matches!(join.join_operator, JoinOperator::RightOuter(_) | JoinOperator::Right(_))
            && !matches!(join.join_operator, JoinOperator::FullOuter(_));
        let right_table = table_name(&join.relation)?;
        let mut condition: Option<Expr> = None;
        for column in columns {
            let column = single(column)?;
            let known = merged.columns.iter().position(|(name, _)| *name == column.value);
            let left = match known {
                Some(known) => merged.columns.remove(known).1,
                None if i == 0 => qualified(&table_name(relation)?, column),
                None => Expr::Identifier(column.clone()),
            };
            let right = qualified(&right_table, column);
            let equal = binary(left.clone(), BinaryOperator::Eq, right.clone());
            condition = Some(match condition {
                Some(condition) => binary(condition, BinaryOperator::And, equal),
                None => equal,
            });
            let value = match &join.join_operator {
                JoinOperator::RightOuter(_) | JoinOperator::Right(_) => right,
                JoinOperator::FullOuter(_) => call("coalesce", vec![left, right]),
                _ => left,
            };
            merged.columns.push((column.value.clone(), value));
        }
        merged.conditions.push(condition);
    }
    let needed = of_using > 1 || !is_plain;
    needed.then_some(merged)
}

fn table_name(factor: &TableFactor) -> Option<Ident> {
    match factor {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. }
        | TableFactor::MatchRecognize { alias: Some(alias), .. }
        | TableFactor::NestedJoin { alias: Some(alias), .. } => Some(alias.name.clone()),
        TableFactor::Table { name, alias: None, .. } => name.0.last()?.as_ident().cloned(),
        _ => None,
    }
}

fn single(name: &ObjectName) -> Option<&Ident> {
    match name.0.as_slice() {
        [part] => part.as_ident(),
        _ => None,
    }
}

fn qualified(table: &Ident, column: &Ident) -> Expr {
    Expr::CompoundIdentifier(vec![table.clone(), column.clone()])
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => Some(constraint),
        _ => None,
    }
}

fn constraint_mut(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => Some(constraint),
        _ => None,
    }
}
