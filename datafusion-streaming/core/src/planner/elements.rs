//! Elements of arrays that are made by aggregates.

use datafusion::common::{DFSchema, Result};
use datafusion::functions_nested::expr_fn::array_element;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawFieldAccessExpr};
use datafusion::logical_expr::{Expr, GetFieldAccess};

/// `ARRAY_AGG(x)[i]` as an element of the array. DataFusion makes an NTH_VALUE of it, which is another
/// function, and none of Flink's.
#[derive(Debug)]
pub struct ElementsOfAggregates;

impl ExprPlanner for ElementsOfAggregates {
    fn plan_field_access(
        &self,
        access: RawFieldAccessExpr,
        _schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let RawFieldAccessExpr { expr, field_access } = access;
        Ok(match (expr, field_access) {
            (expr, GetFieldAccess::ListIndex { key }) if is_array_agg(&expr) => {
                PlannerResult::Planned(array_element(expr, *key))
            }
            (expr, field_access) => PlannerResult::Original(RawFieldAccessExpr { expr, field_access }),
        })
    }
}

fn is_array_agg(expr: &Expr) -> bool {
    matches!(expr, Expr::AggregateFunction(function) if function.func.name() == "array_agg")
}
