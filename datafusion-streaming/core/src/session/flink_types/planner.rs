//! Operators that are planned as they are read, since DataFusion has no type for them.

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, Operator};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use datafusion_streaming_udfs::common_type::common_type_of;
use datafusion_streaming_udfs::scalar::extract_udf;
use datafusion_streaming_udfs::timestamps::has_wide_timestamps;

use super::kinds::{is_decimal, is_exact, is_interval, is_text};
use super::{Operation, arithmetic, call_udf, cast, comparison};
use crate::sql::rewrite::{IS_DISTINCT_FROM, IS_NOT_DISTINCT_FROM};

/// Arithmetic of DECIMALs, whose digits DataFusion counts otherwise and may find too many, products of intervals, a
/// BOOLEAN that is compared with a text, EXTRACT, and what has to do with timestamps of 128 bits.
#[derive(Debug)]
pub(crate) struct Arithmetic;

/// The operator, where DataFusion may have no type for it.
fn operator(op: &BinaryOperator) -> Option<Operator> {
    Some(match op {
        BinaryOperator::Eq => Operator::Eq,
        BinaryOperator::NotEq => Operator::NotEq,
        BinaryOperator::Lt => Operator::Lt,
        BinaryOperator::LtEq => Operator::LtEq,
        BinaryOperator::Gt => Operator::Gt,
        BinaryOperator::GtEq => Operator::GtEq,
        BinaryOperator::Plus => Operator::Plus,
        BinaryOperator::Minus => Operator::Minus,
        BinaryOperator::Multiply => Operator::Multiply,
        BinaryOperator::Divide => Operator::Divide,
        BinaryOperator::Modulo => Operator::Modulo,
        BinaryOperator::Custom(name) if name == IS_DISTINCT_FROM => Operator::IsDistinctFrom,
        BinaryOperator::Custom(name) if name == IS_NOT_DISTINCT_FROM => Operator::IsNotDistinctFrom,
        _ => return None,
    })
}

impl ExprPlanner for Arithmetic {
    fn plan_extract(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(call_udf(extract_udf(), args)))
    }

    fn plan_array_literal(
        &self,
        mut exprs: Vec<Expr>,
        schema: &DFSchema,
    ) -> Result<PlannerResult<Vec<Expr>>> {
        let types = exprs.iter().map(|expr| expr.get_type(schema)).collect::<Result<Vec<_>>>();
        if let Ok(types) = types
            && types.iter().any(has_wide_timestamps)
            && let Some(common) = common_type_of(&types)
        {
            for (expr, data_type) in exprs.iter_mut().zip(&types) {
                if !data_type.is_null() {
                    *expr = *cast(Box::new(std::mem::take(expr)), data_type, &common);
                }
            }
        }
        Ok(PlannerResult::Original(exprs))
    }

    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let Some(op) = operator(&expr.op) else { return Ok(PlannerResult::Original(expr)) };
        let types = (expr.left.get_type(schema), expr.right.get_type(schema));
        let operation =
            |expr: RawBinaryExpr| Operation { left: Box::new(expr.left), op, right: Box::new(expr.right) };
        let distinctness = matches!(op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom);
        if let (Ok(left), Ok(right)) = types {
            let wide = has_wide_timestamps(&left) || has_wide_timestamps(&right);
            if comparison::is_comparison(op) {
                if wide && left != right && !left.is_null() && !right.is_null() {
                    return Ok(PlannerResult::Planned(
                        comparison::comparison(operation(expr), &left, &right)?.data,
                    ));
                }
                let mixed = left == DataType::Boolean && is_text(&right)
                    || is_text(&left) && right == DataType::Boolean;
                if mixed && matches!(op, Operator::Eq | Operator::NotEq) {
                    return comparison::never_equal(operation(expr)).map(PlannerResult::Planned);
                }
            } else {
                let decimal =
                    is_exact(&left) && is_exact(&right) && (is_decimal(&left) || is_decimal(&right));
                let product = op == Operator::Multiply && (is_interval(&left) || is_interval(&right));
                if decimal || product || wide {
                    let planned = arithmetic::arithmetic(operation(expr), &left, &right, schema)?;
                    return Ok(PlannerResult::Planned(planned.data));
                }
            }
        }
        Ok(if distinctness {
            PlannerResult::Planned(operation(expr).plain())
        } else {
            PlannerResult::Original(expr)
        })
    }
}
