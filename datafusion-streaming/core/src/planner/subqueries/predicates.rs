//! EXISTS, IN and ALL.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, ExprSchema, Result, ScalarValue};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::expr::{Exists, InSubquery, SetQuantifier};
use datafusion::logical_expr::{
    BinaryExpr, Expr, Filter, LogicalPlan, LogicalPlanBuilder, Operator, Projection, Subquery, lit, when,
};

/// A projection in which EXISTS and IN are scalar subqueries that count rows.
pub(super) fn as_columns(projection: Projection) -> Result<Projection> {
    let has_predicate =
        |expr: &Expr| expr.exists(|expr| Ok(matches!(expr, Expr::Exists(_) | Expr::InSubquery(_))));
    if !projection.expr.iter().map(has_predicate).collect::<Result<Vec<_>>>()?.contains(&true) {
        return Ok(projection);
    }
    let columns = projection.expr.iter().zip(projection.schema.iter()).map(|(expr, (qualifier, field))| {
        let rewritten = expr.clone().transform_up(|expr| {
            Ok(match expr {
                Expr::Exists(exists) => Transformed::yes(counted_exists(exists)?),
                Expr::InSubquery(among) => Transformed::yes(counted_in(among, projection.input.as_ref())?),
                expr => Transformed::no(expr),
            })
        })?;
        Ok(match rewritten.transformed {
            true => rewritten.data.unalias().alias_qualified(qualifier.cloned(), field.name()),
            false => rewritten.data,
        })
    });
    Projection::try_new(columns.collect::<Result<_>>()?, Arc::clone(&projection.input))
}

fn counted_exists(exists: Exists) -> Result<Expr> {
    let plan = exists.subquery.subquery.as_ref().clone();
    let any = counted(plan, lit(1_i64))?.gt(lit(0_i64));
    Ok(if exists.negated { !any } else { any })
}

/// `x IN (q)`, three-valued: unknown where `x` is NULL or a value of `q`, unless `q` has no row.
fn counted_in(among: InSubquery, outer: &LogicalPlan) -> Result<Expr> {
    let InSubquery { expr, subquery, negated } = among;
    let plan = subquery.subquery.as_ref().clone();
    let value = Expr::Column(Column::from(plan.schema().qualified_field(0)));
    let sought = expr.as_ref().clone().transform_up(|expr| {
        Ok(match expr {
            Expr::Column(column) => {
                let field = outer.schema().field_from_column(&column)?;
                Transformed::yes(Expr::OuterReferenceColumn(Arc::clone(field), column))
            }
            expr => Transformed::no(expr),
        })
    })?;
    let found = LogicalPlanBuilder::from(plan.clone()).filter(value.clone().eq(sought.data))?.build()?;
    let (rows, values) = (counted(plan.clone(), lit(1_i64))?, counted(plan, value)?);
    let unknown = || lit(ScalarValue::Boolean(None));
    let is_in = when(rows.clone().eq(lit(0_i64)), lit(false))
        .when(expr.is_null(), unknown())
        .when(counted(found, lit(1_i64))?.gt(lit(0_i64)), lit(true))
        .when(values.lt(rows), unknown())
        .otherwise(lit(false))?;
    Ok(if negated { !is_in } else { is_in })
}

/// How many rows of a subquery have a value.
fn counted(plan: LogicalPlan, value: Expr) -> Result<Expr> {
    let counted =
        LogicalPlanBuilder::from(plan).aggregate(Vec::<Expr>::new(), vec![count(value)])?.build()?;
    let outer_ref_columns = counted.all_out_ref_exprs();
    let subquery = Subquery { subquery: Arc::new(counted), outer_ref_columns, spans: Default::default() };
    // the count of no rows is 0, also where a join finds none
    let count = Expr::ScalarSubquery(subquery);
    when(count.clone().is_null(), lit(0_i64)).otherwise(count)
}

/// A filter in which subqueries mean what Flink makes of them.
pub(super) fn in_filter(filter: Filter) -> Result<Filter> {
    let predicate = filter.predicate.clone().transform_up(|expr| {
        Ok(match expr {
            Expr::SetComparison(comparison) if comparison.quantifier == SetQuantifier::All => {
                let exists = Expr::Exists(Exists { subquery: comparison.subquery.clone(), negated: false });
                Transformed::yes(Expr::SetComparison(comparison).and(exists))
            }
            Expr::Exists(Exists { subquery, negated }) => {
                let plan = subquery.subquery.as_ref().clone().transform_down(|plan| match plan {
                    LogicalPlan::Filter(inner) => {
                        let predicate = with_plain_equality(inner.predicate)?;
                        Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, inner.input)?)))
                    }
                    plan => Ok(Transformed::no(plan)),
                })?;
                let subquery = Subquery { subquery: Arc::new(plan.data), ..subquery };
                Transformed::yes(Expr::Exists(Exists { subquery, negated }))
            }
            expr => Transformed::no(expr),
        })
    })?;
    match predicate.transformed {
        true => Filter::try_new(predicate.data, filter.input),
        false => Ok(filter),
    }
}

/// Comparisons with the outer query in which NULL does not equal NULL.
fn with_plain_equality(predicate: Expr) -> Result<Expr> {
    let plain = predicate.transform_up(|expr| {
        Ok(match expr {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::IsNotDistinctFrom, right })
                if left.contains_outer() || right.contains_outer() =>
            {
                Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }))
            }
            expr => Transformed::no(expr),
        })
    })?;
    Ok(plain.data)
}
