//! A global aggregate whose row must come, or not come, though nobody reads it.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchemaRef, Result, plan_err};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use datafusion::optimizer::AnalyzerRule;

/// Keeps a column of the global aggregate below it. DataFusion makes one row of a global aggregate none
/// of whose columns is read, since a table always has one; that of a stream has none before the first
/// row of the input, and changes with the others. The node is nothing in the physical plan.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd)]
pub struct GlobalAggregate {
    input: LogicalPlan,
}

impl UserDefinedLogicalNodeCore for GlobalAggregate {
    fn name(&self) -> &str {
        "GlobalAggregate"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![]
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GlobalAggregate")
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        match inputs.into_iter().next() {
            Some(input) => Ok(GlobalAggregate { input }),
            None => plan_err!("a global aggregate has an input"),
        }
    }

    /// What is read, and at least one column.
    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![if output_columns.is_empty() { vec![0] } else { output_columns.to_vec() }])
    }
}

/// Puts a [`GlobalAggregate`] above every aggregate without groups. Those of subqueries in expressions
/// are left alone: DataFusion's decorrelation looks for them.
#[derive(Debug)]
pub struct KeepGlobalAggregates;

impl AnalyzerRule for KeepGlobalAggregates {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let keep = |plan: LogicalPlan| match &plan {
            LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => {
                let node = Arc::new(GlobalAggregate { input: plan });
                Ok(Transformed::yes(LogicalPlan::Extension(Extension { node })))
            }
            _ => Ok(Transformed::no(plan)),
        };
        Ok(plan.transform_up(keep)?.data)
    }

    fn name(&self) -> &str {
        "keep_global_aggregates"
    }
}
