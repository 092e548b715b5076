//! Joins whose right side is made for each row of the left: DataFusion plans them as lateral
//! subqueries, and this rule makes nodes of them.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, DFSchemaRef, JoinType, Result, plan_err};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    EmptyRelation, Expr, Extension, Filter, Join, LogicalPlan, SubqueryAlias, UserDefinedLogicalNodeCore, lit,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;

use super::{Unnest, UnnestSource};

/// Makes [`Unnest`]s of joins with [`UnnestSource`]s.
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
        LogicalPlan::Join(join) => match source_of(&join.right) {
            Some(source) => unnest_join(&join, &source).map(Transformed::yes),
            None => Ok(Transformed::no(LogicalPlan::Join(join))),
        },
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

/// The UNNEST that a lateral subquery consists of.
fn source_of(plan: &LogicalPlan) -> Option<UnnestSource> {
    match plan {
        LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) => source_of(input),
        LogicalPlan::Subquery(subquery) => source_of(&subquery.subquery),
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
