//! What Flink takes and refuses as conditions of joins.

mod map_key;

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, ScalarUDF, TryCast};
use datafusion::optimizer::AnalyzerRule;
use datafusion_streaming_udfs::types::type_name;

use self::map_key::MapKey;

/// Brings the two sides of an equality into one form where DataFusion would compare them in another way
/// than Flink, and refuses what Flink refuses. It runs before DataFusion's type coercion.
#[derive(Debug)]
pub(super) struct JoinConditions;

impl AnalyzerRule for JoinConditions {
    fn name(&self) -> &str {
        "flink_join_conditions"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Join(mut join) => {
                let schema = merge_schema(&[&join.left, &join.right]);
                join.filter = join.filter.map(|filter| condition(filter, &schema)).transpose()?;
                Ok(Transformed::yes(LogicalPlan::Join(join)))
            }
            plan => Ok(Transformed::no(plan)),
        })
        .map(|plan| plan.data)
    }
}

fn condition(filter: Expr, schema: &DFSchema) -> Result<Expr> {
    let planned = filter.transform_up(|expr| match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (Ok(left_type), Ok(right_type)) = (left.get_type(schema), right.get_type(schema)) else {
                return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })));
            };
            let equality = Equality { left, op, right };
            equality.planned(&left_type, &right_type)
        }
        expr => Ok(Transformed::no(expr)),
    })?;
    Ok(planned.data)
}

struct Equality {
    left: Box<Expr>,
    op: Operator,
    right: Box<Expr>,
}

impl Equality {
    fn planned(self, left: &DataType, right: &DataType) -> Result<Transformed<Expr>> {
        let Equality { left: a, op, right: b } = self;
        let plain = |a, b| Expr::BinaryExpr(BinaryExpr { left: a, op, right: b });
        Ok(match (op, left, right) {
            // times that are only in one of the units cannot be equal
            (Operator::Eq, DataType::Timestamp(one, zone), DataType::Timestamp(other, other_zone))
                if one != other && zone.is_some() == other_zone.is_some() =>
            {
                let (finer, zone) = if one > other { (one, zone) } else { (other, other_zone) };
                let common = DataType::Timestamp(*finer, zone.clone());
                let cast = |expr: Box<Expr>, from: &DataType| match *from == common {
                    true => expr,
                    false => Box::new(Expr::TryCast(TryCast::new(expr, common.clone()))),
                };
                Transformed::yes(plain(cast(a, left), cast(b, right)))
            }
            (Operator::Eq, DataType::Map(_, _), DataType::Map(_, _)) if left == right => {
                let key = |map: Box<Expr>| Box::new(ScalarUDF::from(MapKey::default()).call(vec![*map]));
                Transformed::yes(plain(key(a), key(b)))
            }
            (Operator::Eq, bytes, text) | (Operator::Eq, text, bytes) if is_bytes(bytes) && is_text(text) => {
                return plan_err!(
                    "Cannot apply '=' to arguments of type '<{}> = <{}>': cast one of them",
                    type_name(left),
                    type_name(right)
                );
            }
            (Operator::IsNotDistinctFrom, _, _)
                if left != right
                    && !left.is_null()
                    && !right.is_null()
                    && a.column_refs() != b.column_refs() =>
            {
                return plan_err!(
                    "Join: Equality join predicate on incompatible types: {a} is of type {}, {b} of type {}; cast one of them",
                    type_name(left),
                    type_name(right)
                );
            }
            _ => Transformed::no(plain(a, b)),
        })
    }
}

fn is_bytes(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}
