//! Aliases of the select list that GROUP BY and HAVING must not see.
//!
//! To Flink, `x` in `SELECT UPPER(k) AS x, COUNT(*) FROM t GROUP BY x` is a column of `t`; DataFusion takes the
//! alias if there is no such column, and in HAVING even if there is one. Where such a name occurs, the alias gets
//! another name, and an outer query gives it back:
//!
//! ```sql
//! SELECT `x#` AS x, `EXPR$1` AS `EXPR$1` FROM (SELECT UPPER(k) AS `x#`, COUNT(*) AS `EXPR$1` FROM t GROUP BY x)
//! ```

use std::collections::HashSet;
use std::mem;

use datafusion::sql::sqlparser::ast::{Expr, OrderByKind, Query, Select, SelectItem, SetExpr};

use super::columns::each_column;
use super::projection::no_rows;
use crate::sql::ast::{derived, query_of, quoted, select_of};

/// Hides aliases in all SELECTs that are this query's own, not those of subqueries.
pub(super) fn hide(query: &mut Query) {
    if let SetExpr::Select(select) = query.body.as_mut() {
        let hidden = hidden_aliases(select);
        if hidden.is_empty() || !rename(select, &hidden) {
            return;
        }
        if let Some(order_by) = &mut query.order_by
            && let OrderByKind::Expressions(exprs) = &mut order_by.kind
        {
            exprs.iter_mut().for_each(|order| rename_columns(&mut order.expr, &hidden));
        }
        let names = item_names(select);
        let mut inner = query_of(mem::replace(query.body.as_mut(), no_rows()));
        inner.order_by = query.order_by.take();
        inner.limit_clause = query.limit_clause.take();
        *query.body = give_back(names, inner);
    } else {
        hide_in_operands(&mut query.body);
    }
}

fn hide_in_operands(body: &mut SetExpr) {
    match body {
        SetExpr::SetOperation { left, right, .. } => {
            hide_in_operands(left);
            hide_in_operands(right);
        }
        SetExpr::Select(select) => {
            let hidden = hidden_aliases(select);
            if !hidden.is_empty() && rename(select, &hidden) {
                let names = item_names(select);
                *body = give_back(names, query_of(mem::replace(body, no_rows())));
            }
        }
        _ => {}
    }
}

/// The aliases that stand for an expression of their own and whose names GROUP BY or HAVING uses.
fn hidden_aliases(select: &mut Select) -> HashSet<String> {
    let mut used = HashSet::new();
    let mut see = |name: &str| {
        used.insert(name.to_string());
        None
    };
    each_column(&mut select.group_by, &mut see);
    each_column(&mut select.having, &mut see);
    let alias = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { expr, alias } if !is_column(expr, &alias.value) => {
            Some(alias.value.clone())
        }
        _ => None,
    };
    let aliases = select.projection.iter().filter_map(alias);
    aliases.filter(|alias| used.contains(alias)).collect()
}

fn is_column(expr: &Expr, name: &str) -> bool {
    match expr {
        Expr::Identifier(column) => column.value == name,
        Expr::CompoundIdentifier(path) => path.last().is_some_and(|column| column.value == name),
        Expr::Nested(expr) => is_column(expr, name),
        _ => false,
    }
}

fn hidden_name(alias: &str) -> String {
    format!("{alias}#")
}

/// Renames the aliases where they are visible. Not possible beside a `*`, whose columns nobody knows yet.
fn rename(select: &mut Select, hidden: &HashSet<String>) -> bool {
    let named =
        |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
    if !select.projection.iter().all(named) {
        return false;
    }
    for item in &mut select.projection {
        if let SelectItem::ExprWithAlias { alias, .. } = item
            && hidden.contains(&alias.value)
        {
            *alias = quoted(hidden_name(&alias.value));
        }
    }
    if let Some(qualify) = &mut select.qualify {
        rename_columns(qualify, hidden);
    }
    true
}

/// The names of the items, all of which have one.
fn item_names(select: &Select) -> Vec<String> {
    let name = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(name.value.clone()),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(path)) => path.last().map(|name| name.value.clone()),
        _ => None,
    };
    select.projection.iter().filter_map(name).collect()
}

fn give_back(names: Vec<String>, inner: Box<Query>) -> SetExpr {
    let item = |name: String| SelectItem::ExprWithAlias {
        expr: Expr::Identifier(quoted(&name)),
        alias: quoted(name.strip_suffix('#').unwrap_or(&name)),
    };
    select_of(names.into_iter().map(item).collect(), Some(derived(inner, None)))
}

fn rename_columns(expr: &mut Expr, hidden: &HashSet<String>) {
    each_column(expr, |name| hidden.contains(name).then(|| Expr::Identifier(quoted(hidden_name(name)))));
}
