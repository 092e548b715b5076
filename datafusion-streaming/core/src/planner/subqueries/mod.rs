//! Subqueries of forms that DataFusion does not plan, or plans with another meaning than Flink.
//!
//! | form | becomes |
//! |---|---|
//! | `EXISTS (q)`, `x IN (q)` in SELECT | scalar subqueries that count ([`predicates`]) |
//! | `x < ALL (q)` in WHERE | with `AND EXISTS (q)`, since Flink keeps no row if `q` has none |
//! | `EXISTS (… a IS NOT DISTINCT FROM outer.b …)` | `… a = outer.b …`, which is what Flink makes of it |
//! | `(SELECT COUNT(*) … WHERE a < outer.b)` | a join with the counts of all `b` ([`dependent`]) |
//! | `LATERAL (SELECT SUM(v) …)`, `LATERAL (… LIMIT n)` | a join with the sums, or the first rows, of all outer values |

mod dependent;
mod predicates;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::AnalyzerRule;

/// Rewrites subqueries before they are planned.
#[derive(Debug, Default)]
pub(crate) struct FlinkSubqueries;

impl AnalyzerRule for FlinkSubqueries {
    fn name(&self) -> &str {
        "flink_subqueries"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(rewrite).map(|plan| plan.data)
    }
}

fn rewrite(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Projection(projection) => {
            let projection = predicates::as_columns(projection)?;
            match dependent::scalar_columns(&projection)? {
                Some(plan) => Ok(Transformed::yes(plan)),
                None => Ok(Transformed::yes(LogicalPlan::Projection(projection))),
            }
        }
        LogicalPlan::Filter(filter) => {
            Ok(Transformed::yes(LogicalPlan::Filter(predicates::in_filter(filter)?)))
        }
        LogicalPlan::Join(join) => match dependent::lateral_join(&join)? {
            Some(plan) => Ok(Transformed::yes(plan)),
            None => Ok(Transformed::no(LogicalPlan::Join(join))),
        },
        plan => Ok(Transformed::no(plan)),
    }
}
