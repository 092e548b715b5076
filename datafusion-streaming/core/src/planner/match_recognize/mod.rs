//! MATCH_RECOGNIZE: from its clauses to a plan.

mod binder;
mod node;
mod pattern;
mod physical;

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::{Column, DFSchema, Result, plan_datafusion_err, plan_err};
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlannerContext};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, SortExpr};
use datafusion::sql::planner::NullOrdering;
use datafusion::sql::sqlparser::ast::{
    AfterMatchSkip, Expr as SqlExpr, Ident, OrderByExpr, RowsPerMatch, TableFactor,
};
use datafusion_streaming_physical_plan::operators::match_recognize::{AfterMatch, Pattern};

use self::binder::Binder;
pub use self::node::{MatchClauses, MatchRecognize, MatchReference, MatchValues};
use self::pattern::pattern_of;
pub(super) use self::physical::{plan_match_recognize, plan_match_values};
use super::intervals::interval_millis;
use crate::sql::split_within;

/// The plan of `t MATCH_RECOGNIZE (…)`; `None` for any other relation.
pub(super) fn match_recognize(
    relation: TableFactor,
    cx: &mut dyn RelationPlannerContext,
) -> Result<Option<PlannedRelation>> {
    let TableFactor::MatchRecognize {
        table,
        partition_by,
        order_by,
        measures,
        rows_per_match,
        after_match_skip,
        pattern,
        symbols,
        alias,
    } = relation
    else {
        return Ok(None);
    };
    if matches!(rows_per_match, Some(RowsPerMatch::AllRows(_))) {
        return plan_err!(
            "ALL ROWS PER MATCH is not possible over a stream: use ONE ROW PER MATCH, and MEASURES"
        );
    }
    if measures.is_empty() {
        return plan_err!("MATCH_RECOGNIZE lacks MEASURES, which say what the columns of a match are");
    }
    let input = cx.plan(*table)?;
    let (within, symbols) = split_within(symbols);
    let pattern = Pattern::try_new(pattern_of(&pattern, &|name| cx.normalize_ident(name.clone()))?)?;
    let within = within.map(|within| millis_within(within, cx)).transpose()?.unwrap_or(0);
    let after = after_match(after_match_skip, &pattern, cx)?;
    let partition_by = partition_columns(partition_by, &input, cx)?;
    let order_by = order_columns(order_by, &input, cx)?;

    let symbols: Vec<(String, SqlExpr)> =
        symbols.into_iter().map(|it| (cx.normalize_ident(it.symbol), it.definition)).collect();
    let measures: Vec<(String, SqlExpr)> =
        measures.into_iter().map(|it| (cx.normalize_ident(it.alias), it.expr)).collect();
    let defined = symbols.iter().map(|(name, _)| name.clone());
    let mut binder = Binder::new(cx, &input, &pattern, defined, order_by.first());
    let definitions = definitions(symbols, &pattern, &mut binder)?;
    let measure = |(name, measure): (String, SqlExpr)| {
        let planned = binder.measure(&name, measure)?;
        Ok((name, planned))
    };
    let measures = measures.into_iter().map(measure).collect::<Result<_>>()?;
    let references = binder.into_references();
    let node = MatchRecognize::try_new(MatchClauses {
        input,
        partition_by,
        order_by,
        pattern,
        after,
        within,
        references,
        definitions,
        measures,
    })?;
    let plan = LogicalPlan::Extension(Extension { node: Arc::new(node) });
    Ok(Some(PlannedRelation::new(plan, alias)))
}

fn millis_within(within: SqlExpr, cx: &mut dyn RelationPlannerContext) -> Result<i64> {
    let interval = cx.sql_to_expr(within, &DFSchema::empty())?;
    interval_millis("MATCH_RECOGNIZE", "WITHIN", interval)
}

fn after_match(
    clause: Option<AfterMatchSkip>,
    pattern: &Pattern,
    cx: &dyn RelationPlannerContext,
) -> Result<AfterMatch> {
    let variable = |name: Ident| {
        let name = cx.normalize_ident(name);
        pattern.variable(&name).ok_or_else(|| {
            plan_datafusion_err!("AFTER MATCH SKIP TO {name}: {name} is no variable of PATTERN ({pattern})")
        })
    };
    Ok(match clause {
        None | Some(AfterMatchSkip::ToNextRow) => AfterMatch::SkipToNextRow,
        Some(AfterMatchSkip::PastLastRow) => AfterMatch::SkipPastLastRow,
        Some(AfterMatchSkip::ToFirst(name)) => AfterMatch::SkipToFirst(variable(name)?),
        Some(AfterMatchSkip::ToLast(name)) => AfterMatch::SkipToLast(variable(name)?),
    })
}

fn partition_columns(
    partition_by: Vec<SqlExpr>,
    input: &LogicalPlan,
    cx: &mut dyn RelationPlannerContext,
) -> Result<Vec<Column>> {
    let column = |expr| match cx.sql_to_expr(expr, input.schema())? {
        Expr::Column(column) => Ok(column),
        other => {
            plan_err!("PARTITION BY of MATCH_RECOGNIZE takes columns, not {other}; compute it in a sub-query")
        }
    };
    partition_by.into_iter().map(column).collect()
}

fn order_columns(
    order_by: Vec<OrderByExpr>,
    input: &LogicalPlan,
    cx: &mut dyn RelationPlannerContext,
) -> Result<Vec<SortExpr>> {
    let nulls = NullOrdering::from(cx.context_provider().options().sql_parser.default_null_ordering.as_str());
    let mut columns = vec![];
    for OrderByExpr { expr, options, .. } in order_by {
        let column = match cx.sql_to_expr(expr, input.schema())? {
            Expr::Column(column) => column,
            other => {
                return plan_err!(
                    "ORDER BY of MATCH_RECOGNIZE takes columns, not {other}; compute it in a sub-query"
                );
            }
        };
        let ascending = options.asc.unwrap_or(true);
        let nulls_first = options.nulls_first.unwrap_or_else(|| nulls.nulls_first(ascending));
        columns.push(Expr::Column(column).sort(ascending, nulls_first));
    }
    match columns.first() {
        None => plan_err!(
            "MATCH_RECOGNIZE lacks ORDER BY: its first column must be a time attribute, which has a WATERMARK or is \
             PROCTIME()"
        ),
        Some(time) if !time.asc => plan_err!(
            "MATCH_RECOGNIZE orders by {} DESC: over a stream the time attribute must be in ascending order",
            time.expr
        ),
        Some(_) => Ok(columns),
    }
}

/// The conditions of the variables of the pattern. Those of others are checked, and no longer needed then.
fn definitions(
    symbols: Vec<(String, SqlExpr)>,
    pattern: &Pattern,
    binder: &mut Binder<'_>,
) -> Result<Vec<Option<Expr>>> {
    let mut definitions: Vec<Option<Expr>> = vec![None; pattern.elements().len()];
    let mut names = HashSet::new();
    for (name, definition) in symbols {
        let definition = binder.definition(&name, definition)?;
        if let Some(variable) = pattern.variable(&name) {
            definitions[variable] = Some(definition);
        }
        if let Some(name) = names.replace(name) {
            return plan_err!("DEFINE has two definitions of {name}: join them by AND");
        }
    }
    Ok(definitions)
}
