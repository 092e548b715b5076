//! NOT IN of a subquery that depends on the row.

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// Plans `x NOT IN (SELECT y … WHERE outer.k = k)`.
///
/// DataFusion makes a null-aware anti join of it, which it can run for one key only. With more, the
/// value looked for, which is the first key, becomes a condition: a row is out if for any other of its
/// `k` it is not false that `x = y`.
#[derive(Debug, Default)]
pub(crate) struct CorrelatedNotIn;

impl OptimizerRule for CorrelatedNotIn {
    fn name(&self) -> &str {
        "correlated_not_in"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let mut join = match plan {
            LogicalPlan::Join(join)
                if join.null_aware && join.join_type == JoinType::LeftAnti && join.on.len() > 1 =>
            {
                join
            }
            other => return Ok(Transformed::no(other)),
        };
        let (sought, among) = join.on.remove(0);
        let may_be_among = Expr::IsNotFalse(Box::new(sought.eq(among)));
        join.filter = Some(match join.filter.take() {
            Some(filter) => may_be_among.and(filter),
            None => may_be_among,
        });
        join.null_aware = false;
        Ok(Transformed::yes(LogicalPlan::Join(join)))
    }
}
