//! What Flink refuses of FILTER clauses, and DataFusion passes over.

use std::ops::ControlFlow;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, Result, plan_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Expr as SqlExpr;

use crate::sql::visit::each_expr;

/// Plans a statement whose FILTERs stand behind aggregate functions and are conditions.
pub(super) async fn plan_checked(state: &SessionState, statement: Statement) -> Result<LogicalPlan> {
    if let Statement::Statement(statement) = &statement {
        let mut misplaced = None;
        let _ = each_expr(statement.as_ref(), &mut |expr| {
            let SqlExpr::Function(function) = expr else { return ControlFlow::Continue(()) };
            let name = function.name.to_string().to_ascii_lowercase();
            // a function that does not exist is found out later
            let is_scalar = || state.scalar_functions().contains_key(name.trim_matches(['"', '`']));
            if function.filter.is_some() && is_scalar() {
                misplaced = Some(function.to_string());
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        if let Some(function) = misplaced {
            return plan_err!("FILTER stands behind an aggregate function only: {function}");
        }
    }
    let plan = state.statement_to_plan(statement).await?;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Aggregate(aggregate) = node {
            for call in &aggregate.aggr_expr {
                check_condition(call, aggregate.input.schema())?;
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(plan)
}

fn check_condition(call: &Expr, input: &DFSchemaRef) -> Result<()> {
    call.apply(|expr| {
        if let Expr::AggregateFunction(function) = expr
            && let Some(filter) = &function.params.filter
        {
            let data_type = filter.get_type(input.as_ref())?;
            if !matches!(data_type, DataType::Boolean | DataType::Null) {
                return plan_err!("FILTER (WHERE {filter}) must be a condition, but is of type {data_type}");
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}
