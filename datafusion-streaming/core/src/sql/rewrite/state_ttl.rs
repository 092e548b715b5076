//! The hint STATE_TTL.

use std::mem;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, GroupByExpr, ObjectName, ObjectNamePart, Select,
    TableAlias, TableFactor, Value, VisitMut,
};
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion_streaming_udfs::aggregate::flink_aggregates;

use crate::sql::ast::{query_of, quoted, select_all, table};
use crate::sql::durations::parse_duration;
use crate::sql::hints::{LocatedHint, each_hinted_select};
use crate::sql::tokens;
use crate::sql::visit::each_expr;

/// What a table with a time to live is called as: a table function of the table and the milliseconds.
pub(crate) const STATE_TTL: &str = "$STATE_TTL";

/// Puts the times to live of `SELECT /*+ STATE_TTL('t' = '1 d') */` around the tables that they name, by their alias
/// or else their name. They are for the joins of this SELECT or, where it reads one table, its aggregation; in any
/// other SELECT they have, as in Flink, no effect.
///
/// # Errors
/// If a duration is none, or there is no table of a name.
pub(in crate::sql) fn apply(node: &mut impl VisitMut, hints: &[LocatedHint]) -> Result<(), ParserError> {
    each_hinted_select(node, hints, "STATE_TTL", apply_to)
}

fn apply_to(select: &mut Select, hint: &LocatedHint) -> Result<(), ParserError> {
    let error = |message: String| tokens::error(message, hint.at);
    let joined = select.from.len() > 1 || select.from.iter().any(|from| !from.joins.is_empty());
    let takes_effect = joined || is_aggregation(select);
    let mut unknown = vec![];
    for (name, duration) in &hint.hint.arguments {
        let Some(duration) = duration else {
            return Err(error(format!(
                "STATE_TTL needs a duration for '{name}', as in STATE_TTL('{name}' = '1 d')"
            )));
        };
        let millis =
            parse_duration(duration).map_err(|e| error(format!("STATE_TTL of '{name}': {}", e.message())))?;
        let mut found = false;
        for from in &mut select.from {
            let joins = from.joins.iter_mut().map(|join| &mut join.relation);
            for factor in std::iter::once(&mut from.relation).chain(joins) {
                found |= wrap(factor, name, millis, takes_effect);
            }
        }
        if !found {
            unknown.push(name.as_str());
        }
    }
    match unknown.is_empty() {
        true => Ok(()),
        false => Err(error(format!(
            "The options of following hints cannot match the name of input tables or views: `{}` in `STATE_TTL`",
            unknown.join("`, `")
        ))),
    }
}

/// Wraps a table if it has this name; whether it has.
fn wrap(factor: &mut TableFactor, name: &str, millis: u64, takes_effect: bool) -> bool {
    if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
        let joins = table_with_joins.joins.iter_mut().map(|join| &mut join.relation);
        let factors = std::iter::once(&mut table_with_joins.relation).chain(joins);
        return factors.fold(false, |found, factor| found | wrap(factor, name, millis, takes_effect));
    }
    let alias = match &*factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::MatchRecognize { alias, .. } => alias.as_ref(),
        _ => return false,
    };
    let own = match (alias, &*factor) {
        (Some(alias), _) => alias.name.value == name,
        (None, TableFactor::Table { name: table, args: None, .. }) => is_name(table, name),
        _ => false,
    };
    let is_plain = match factor {
        TableFactor::Table { args, version, .. } => args.is_none() && version.is_none(),
        TableFactor::Derived { lateral, .. } => !*lateral,
        _ => false,
    };
    if !own || !is_plain || !takes_effect {
        return own;
    }
    let (inner, alias) = without_alias(factor);
    let number = Expr::value(Value::Number(millis.to_string(), false));
    let args = [Expr::Subquery(query_of(select_all(inner))), number];
    let args = args.map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).to_vec();
    *factor = table(ObjectName::from(vec![quoted(STATE_TTL)]), Some(args), alias);
    true
}

fn is_name(table: &ObjectName, name: &str) -> bool {
    let parts: Vec<_> =
        table.0.iter().filter_map(|part| part.as_ident().map(|ident| ident.value.as_str())).collect();
    parts.last() == Some(&name) || parts.join(".") == name
}

/// Takes a table, and the name by which the query knows it.
fn without_alias(factor: &mut TableFactor) -> (TableFactor, Option<TableAlias>) {
    let mut inner = mem::replace(factor, table(ObjectName(vec![]), None, None));
    let named = |name| TableAlias { explicit: true, name, columns: vec![], at: None };
    let alias = match &mut inner {
        TableFactor::Table { name, alias, .. } => alias.take().or_else(|| match name.0.last() {
            Some(ObjectNamePart::Identifier(name)) => Some(named(name.clone())),
            _ => None,
        }),
        TableFactor::Derived { alias, .. } => {
            let outer = alias.clone();
            // what is selected from must have a name
            if let Some(alias) = alias {
                alias.columns.clear();
            }
            outer
        }
        _ => None,
    };
    (inner, alias)
}

/// Whether a SELECT aggregates.
fn is_aggregation(select: &Select) -> bool {
    let grouped = match &select.group_by {
        GroupByExpr::Expressions(exprs, _) => !exprs.is_empty(),
        GroupByExpr::All(_) => true,
    };
    if grouped || select.distinct.is_some() || select.having.is_some() {
        return true;
    }
    let functions = flink_aggregates();
    let is_aggregate = |function: &Function| {
        let name = function.name.to_string().to_ascii_lowercase();
        function.over.is_none() && functions.iter().any(|it| it.name() == name)
    };
    let called = each_expr(&select.projection, &mut |expr| match expr {
        Expr::Function(function) if is_aggregate(function) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    called.is_break()
}
