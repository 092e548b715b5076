//! Operators that are planned as they are read, since DataFusion has no type for them.

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{ExprSchemable, Operator};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::kinds::{is_decimal, is_exact, is_interval, is_text};
use super::{Operation, arithmetic, comparison};

/// Arithmetic of DECIMALs, whose digits DataFusion counts otherwise and may find too many, products of intervals, and
/// a BOOLEAN that is compared with a text.
#[derive(Debug)]
pub(in crate::session) struct Arithmetic;

impl ExprPlanner for Arithmetic {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let op = match expr.op {
            BinaryOperator::Eq => Operator::Eq,
            BinaryOperator::NotEq => Operator::NotEq,
            BinaryOperator::Plus => Operator::Plus,
            BinaryOperator::Minus => Operator::Minus,
            BinaryOperator::Multiply => Operator::Multiply,
            BinaryOperator::Divide => Operator::Divide,
            BinaryOperator::Modulo => Operator::Modulo,
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let (Ok(left), Ok(right)) = (expr.left.get_type(schema), expr.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(expr));
        };
        if matches!(op, Operator::Eq | Operator::NotEq) {
            let mixed =
                left == DataType::Boolean && is_text(&right) || is_text(&left) && right == DataType::Boolean;
            if !mixed {
                return Ok(PlannerResult::Original(expr));
            }
            let operation = Operation { left: Box::new(expr.left), op, right: Box::new(expr.right) };
            return comparison::never_equal(operation).map(PlannerResult::Planned);
        }
        let decimal = is_exact(&left) && is_exact(&right) && (is_decimal(&left) || is_decimal(&right));
        let product = op == Operator::Multiply && (is_interval(&left) || is_interval(&right));
        if !decimal && !product {
            return Ok(PlannerResult::Original(expr));
        }
        let operation = Operation { left: Box::new(expr.left), op, right: Box::new(expr.right) };
        Ok(PlannerResult::Planned(arithmetic::arithmetic(operation, &left, &right, schema)?.data))
    }
}
