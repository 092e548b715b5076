//! What Flink refuses of FILTER clauses, and DataFusion passes over.

use std::ops::ControlFlow;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, Result, plan_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Expr as SqlExpr, visit_expressions};

/// Plans a statement whose FILTERs stand behind aggregate functions and are conditions.
pub(super) async fn plan_checked(state: &SessionState, statement: Statement) -> Result<LogicalPlan> {
    if let Statement::Statement(statement) = &statement {
        let misplaced = visit_expressions(statement.as_ref(), |expr: &SqlExpr| match expr {
            SqlExpr::Function(function) if function.filter.is_some() => {
                let name = function.name.to_string().to_ascii_lowercase();
                match state.scalar_functions().contains_key(name.trim_matches(['"', '`'])) {
                    true => ControlFlow::Break(function.to_string()),
                    // a function that does not exist is found out later
                    false => ControlFlow::Continue(()),
                }
            }
            _ => ControlFlow::Continue(()),
        });
        if let ControlFlow::Break(function) = misplaced {
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
