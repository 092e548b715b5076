//! Access to elements of arrays and values of maps.

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawFieldAccessExpr};
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, GetFieldAccess, lit};
use datafusion_streaming_udfs::scalar::{item, make_map};

/// `array[i]` and `map[key]` as calls of Flink's function for them. DataFusion counts elements from the end for a
/// negative index, and makes an NTH_VALUE of `ARRAY_AGG(x)[i]`. `MAP[k, v]` is Flink's constructor, which takes a key
/// twice.
#[derive(Debug)]
pub struct Items;

impl ExprPlanner for Items {
    fn plan_field_access(
        &self,
        access: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let RawFieldAccessExpr { expr, field_access } = access;
        Ok(match field_access {
            GetFieldAccess::ListIndex { key } => {
                if let Some(index) = index(&key)
                    && index < 1
                    && !is_map(&expr, schema)
                {
                    return plan_err!("Array element access needs an index starting at 1 but was {index}.");
                }
                PlannerResult::Planned(item().call(vec![expr, *key]))
            }
            GetFieldAccess::NamedStructField { name } if is_map(&expr, schema) => {
                PlannerResult::Planned(item().call(vec![expr, lit(name)]))
            }
            field_access => PlannerResult::Original(RawFieldAccessExpr { expr, field_access }),
        })
    }

    fn plan_make_map(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(make_map().call(args)))
    }
}

fn is_map(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(DataType::Map(_, _)))
}

/// An index that is a literal.
fn index(key: &Expr) -> Option<i64> {
    match key {
        Expr::Literal(value, _) => match value.cast_to(&DataType::Int64) {
            Ok(ScalarValue::Int64(index)) => index,
            _ => None,
        },
        Expr::Cast(Cast { expr, .. }) => index(expr),
        Expr::Negative(expr) => index(expr).map(|index| -index),
        _ => None,
    }
}
