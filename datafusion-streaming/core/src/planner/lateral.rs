//! Joins whose right side is made for each row of the left: DataFusion plans them as lateral
//! subqueries, and this rule makes nodes of them.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, DFSchemaRef, JoinType, Result, plan_err};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    BinaryExpr, EmptyRelation, Expr, Extension, Filter, Join, LogicalPlan, Operator, SubqueryAlias,
    UserDefinedLogicalNodeCore, lit,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;

use super::{TemporalJoin, Unnest, UnnestSource, VersionedTable};

/// Makes [`Unnest`]s of joins with [`UnnestSource`]s, and [`TemporalJoin`]s of those with
/// [`VersionedTable`]s.
#[derive(Debug, Default)]
pub struct LateralRule;

impl AnalyzerRule for LateralRule {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(rewrite).map(|plan| plan.data)
    }

    fn name(&self) -> &str {
        "streaming_lateral"
    }
}

fn rewrite(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Join(join) => {
            if let Some(source) = lateral::<UnnestSource>(&join.right) {
                return unnest_join(&join, &source).map(Transformed::yes);
            }
            match lateral::<VersionedTable>(&join.right) {
                Some(table) => temporal_join(&join, &table).map(Transformed::yes),
                None => Ok(Transformed::no(LogicalPlan::Join(join))),
            }
        }
        LogicalPlan::Extension(extension) => {
            let source = extension.node.as_any().downcast_ref::<UnnestSource>();
            match source.filter(|source| !source.collection().contains_outer()) {
                Some(source) => Ok(Transformed::yes(unnest_alone(source))),
                None => Ok(Transformed::no(LogicalPlan::Extension(extension))),
            }
        }
        plan => Ok(Transformed::no(plan)),
    }
}

/// The node that a lateral subquery consists of.
fn lateral<T: Clone + 'static>(plan: &LogicalPlan) -> Option<T> {
    match plan {
        LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) => lateral(input),
        LogicalPlan::Subquery(subquery) => lateral(&subquery.subquery),
        LogicalPlan::Extension(extension) => extension.node.as_any().downcast_ref().cloned(),
        _ => None,
    }
}

/// An UNNEST of a constant.
fn unnest_alone(source: &UnnestSource) -> LogicalPlan {
    let one_row = LogicalPlan::EmptyRelation(EmptyRelation {
        produce_one_row: true,
        schema: Arc::new(DFSchema::empty()),
    });
    let schema = Arc::clone(UserDefinedLogicalNodeCore::schema(source));
    let node = Unnest::new(one_row, source.collection().clone(), source.ordinality(), schema);
    LogicalPlan::Extension(Extension { node: Arc::new(node) })
}

fn unnest_join(join: &Join, source: &UnnestSource) -> Result<LogicalPlan> {
    let collection = own_columns(source.collection().clone())?;
    let left = join.left.as_ref().clone();
    let node = Unnest::new(left, collection, source.ordinality(), Arc::clone(&join.schema));
    let condition = condition_of(join)?;
    match join.join_type {
        JoinType::Inner => {
            let unnest = LogicalPlan::Extension(Extension { node: Arc::new(node) });
            Ok(match condition {
                Some(condition) => LogicalPlan::Filter(Filter::try_new(condition, Arc::new(unnest))?),
                None => unnest,
            })
        }
        JoinType::Left => {
            let node = node.outer(condition);
            Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
        }
        other => plan_err!("a {other} JOIN with UNNEST is not possible: use CROSS JOIN or LEFT JOIN"),
    }
}

fn temporal_join(join: &Join, table: &VersionedTable) -> Result<LogicalPlan> {
    let time = own_columns(table.time().clone())?;
    let left = join.left.as_ref().clone();
    let right = match join.right.as_ref() {
        LogicalPlan::SubqueryAlias(alias) => {
            let input = Arc::new(table.input().clone());
            LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(input, alias.alias.clone())?)
        }
        _ => table.input().clone(),
    };
    let (mut on, mut filters) = (vec![], vec![]);
    let is_of = |side: &LogicalPlan, expr: &Expr| match expr {
        Expr::Column(column) => side.schema().has_column(column),
        _ => false,
    };
    for condition in condition_of(join)?.iter().flat_map(|condition| split_conjunction(condition)) {
        match condition {
            Expr::BinaryExpr(BinaryExpr { left: a, op: Operator::Eq, right: b }) => {
                if is_of(&left, a) && is_of(&right, b) {
                    on.push((a.as_ref().clone(), b.as_ref().clone()));
                    continue;
                }
                if is_of(&right, a) && is_of(&left, b) {
                    on.push((b.as_ref().clone(), a.as_ref().clone()));
                    continue;
                }
                filters.push(condition.clone());
            }
            condition => filters.push(condition.clone()),
        }
    }
    let filter = filters.into_iter().reduce(Expr::and);
    let schema = Arc::clone(&join.schema);
    let node = TemporalJoin::new((left, right), join.join_type, time, on, filter, schema)
        .with_options(table.options().to_vec());
    Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
}

/// References to the outer query's columns are to the left side's.
fn own_columns(expr: Expr) -> Result<Expr> {
    let own = expr.transform(|expr| {
        Ok(match expr {
            Expr::OuterReferenceColumn(_, column) => Transformed::yes(Expr::Column(column)),
            expr => Transformed::no(expr),
        })
    })?;
    Ok(own.data)
}

/// The condition of a join; `None`: there is none, or it is TRUE.
fn condition_of(join: &Join) -> Result<Option<Expr>> {
    let keys = join.on.iter().map(|(left, right)| left.clone().eq(right.clone()));
    let filter = join.filter.iter().filter(|filter| **filter != lit(true)).cloned();
    let condition = keys.chain(filter).reduce(Expr::and);
    condition.map(|condition| coerced(condition, &join.schema)).transpose()
}

/// An expression with casts where types differ.
fn coerced(expr: Expr, schema: &DFSchemaRef) -> Result<Expr> {
    let context = SimplifyContext::builder().with_schema(Arc::clone(schema)).build();
    ExprSimplifier::new(context).coerce(expr, schema)
}
