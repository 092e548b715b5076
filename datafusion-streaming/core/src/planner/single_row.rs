//! Scalar subqueries that may have more than one row.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::AnalyzerRule;
use datafusion_streaming_udfs::aggregate::{FlinkAggregateUdf, SingleValue};

/// Puts `SINGLE_VALUE` above scalar subqueries that are not known to have one row at most, as Flink does: the
/// query fails when they have two at a time. Without it the join that is made of the subquery would silently
/// repeat the rows of the outer query.
#[derive(Debug)]
pub(crate) struct SingleRowSubqueries;

impl AnalyzerRule for SingleRowSubqueries {
    fn name(&self) -> &str {
        "single_row_subqueries"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let guard = |plan: LogicalPlan| plan.map_expressions(|expr| expr.transform_up(guarded));
        Ok(plan.transform_up_with_subqueries(guard)?.data)
    }
}

fn guarded(expr: Expr) -> Result<Transformed<Expr>> {
    let subquery = match expr {
        Expr::ScalarSubquery(subquery) if subquery.subquery.max_rows().is_none_or(|rows| rows > 1) => {
            subquery
        }
        other => return Ok(Transformed::no(other)),
    };
    let Some(value) = subquery.subquery.schema().columns().into_iter().next() else {
        return Ok(Transformed::no(Expr::ScalarSubquery(subquery)));
    };
    let name = value.name.clone();
    let single = FlinkAggregateUdf::new(Arc::new(SingleValue)).into_udf();
    let single = single.call(vec![Expr::Column(value)]).alias(name);
    let none: [Expr; 0] = [];
    let plan = LogicalPlanBuilder::new_from_arc(subquery.subquery).aggregate(none, [single])?.build()?;
    Ok(Transformed::yes(Expr::ScalarSubquery(Subquery { subquery: Arc::new(plan), ..subquery })))
}
