//! Names of columns: what Flink calls the ones that have none, and what it does about equal names.

use std::collections::HashSet;
use std::mem;

use datafusion::sql::sqlparser::ast::{
    Expr, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr, SetOperator, SetQuantifier, TableAlias,
    TableAliasColumnDef, Values,
};

use crate::sql::ast::{derived, query_of, quoted, select_all, select_of};

/// Names the items of a select list: an expression at position `i` is `EXPR$i`, and of equal names the second is
/// `x0`, the third `x1`. DataFusion would name expressions by their text, and refuses equal names.
///
/// Behind a `*` Flink counts the columns that it stands for, which nobody knows before planning; here it counts as
/// one.
pub(super) fn name_items(select: &mut Select) {
    let mut used = HashSet::new();
    for (i, item) in select.projection.iter_mut().enumerate() {
        let name = match item {
            SelectItem::UnnamedExpr(expr) => column_name(expr),
            SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
            _ => continue,
        };
        let wanted = name.clone().unwrap_or_else(|| numbered(i));
        let mut unique = wanted.clone();
        let mut attempt = 0;
        while !used.insert(unique.clone()) {
            unique = format!("{wanted}{attempt}");
            attempt += 1;
        }
        match item {
            SelectItem::UnnamedExpr(expr) if name.as_ref() != Some(&unique) || is_path(expr) => {
                let expr = mem::replace(expr, Expr::Identifier(quoted("")));
                *item = SelectItem::ExprWithAlias { expr, alias: quoted(unique) };
            }
            SelectItem::ExprWithAlias { alias, .. } if alias.value != unique => *alias = quoted(unique),
            _ => {}
        }
    }
}

/// In ORDER BY, an expression that is also selected becomes the name that it has there: DataFusion does not see the
/// two to be one, and refuses to order a SELECT DISTINCT by what seems not selected.
pub(super) fn order_by_names(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_ref() else { return };
    let Some(OrderBy { kind: OrderByKind::Expressions(orders), .. }) = &mut query.order_by else { return };
    for order in orders {
        if matches!(order.expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_)) {
            continue;
        }
        // As text, since equality of the AST takes places in the script into account.
        let wanted = order.expr.to_string();
        let named = select.projection.iter().find_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } if expr.to_string() == wanted => Some(alias.clone()),
            _ => None,
        });
        if let Some(name) = named {
            order.expr = Expr::Identifier(name);
        }
    }
}

/// Whether this may be a field of a row. DataFusion drops the alias if it is a column of a table.
fn is_path(expr: &Expr) -> bool {
    matches!(expr, Expr::CompoundIdentifier(_))
}

/// The name that an expression brings along.
fn column_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(name.value.clone()),
        Expr::CompoundIdentifier(path) => path.last().map(|name| name.value.clone()),
        Expr::Nested(expr) => column_name(expr),
        _ => None,
    }
}

/// Names the columns of `VALUES (…), …` `EXPR$0`, `EXPR$1`, …
pub(super) fn name_values(query: &mut Query) {
    let SetExpr::Values(Values { rows, .. }) = query.body.as_ref() else { return };
    let columns = rows.first().map_or(0, |row| row.content.len());
    let columns = (0..columns).map(|i| TableAliasColumnDef { name: quoted(numbered(i)), data_type: None });
    let alias = TableAlias { explicit: true, name: quoted("values"), columns: columns.collect(), at: None };
    let values = mem::replace(query.body.as_mut(), no_rows());
    *query.body = select_all(derived(query_of(values), Some(alias)));
}

/// Makes `SELECT …  UNION ALL SELECT …` of `VALUES (…), …`. Needed within an INSERT, where DataFusion takes every
/// VALUES, however deep, for rows of the target table.
pub(super) fn values_to_union(query: &mut Query) {
    let SetExpr::Values(Values { rows, .. }) = query.body.as_mut() else { return };
    let selects = mem::take(rows).into_iter().map(|row| {
        let named = |(i, expr)| SelectItem::ExprWithAlias { expr, alias: quoted(numbered(i)) };
        select_of(row.content.into_iter().enumerate().map(named).collect(), None)
    });
    if let Some(union) = union_all(selects.collect()) {
        *query.body = union;
    }
}

/// A balanced tree of unions, so that many rows are no deep nesting.
fn union_all(mut operands: Vec<SetExpr>) -> Option<SetExpr> {
    if operands.len() < 2 {
        return operands.pop();
    }
    let right = union_all(operands.split_off(operands.len() / 2))?;
    Some(SetExpr::SetOperation {
        op: SetOperator::Union,
        set_quantifier: SetQuantifier::All,
        left: Box::new(union_all(operands)?),
        right: Box::new(right),
    })
}

/// Nothing, for a moment.
pub(super) fn no_rows() -> SetExpr {
    SetExpr::Values(Values { explicit_row: false, value_keyword: false, rows: vec![] })
}

fn numbered(i: usize) -> String {
    format!("EXPR${i}")
}
