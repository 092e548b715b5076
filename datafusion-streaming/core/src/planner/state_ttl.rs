//! The hint STATE_TTL in a logical plan.

use std::collections::HashSet;
use std::fmt;

use datafusion::common::{DFSchemaRef, Result, plan_err};
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};

/// A table in FROM of which the join or aggregation of the same SELECT keeps what it learns for some time only:
/// `/*+ STATE_TTL('t' = '1 d') */`. The rows are those of the table; predicates and projections pass.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd)]
pub struct StateTtl {
    input: LogicalPlan,
    millis: i64,
}

impl StateTtl {
    /// A table and a time to live in milliseconds, 0 for ever.
    pub fn new(input: LogicalPlan, millis: i64) -> Self {
        StateTtl { input, millis }
    }

    /// The time to live in milliseconds, 0 for ever.
    pub fn millis(&self) -> i64 {
        self.millis
    }
}

impl UserDefinedLogicalNodeCore for StateTtl {
    fn name(&self) -> &str {
        "StateTtl"
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

    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        HashSet::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateTtl: {} ms", self.millis)
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        match inputs.into_iter().next() {
            Some(input) => Ok(StateTtl { input, millis: self.millis }),
            None => plan_err!("the hint STATE_TTL is for a table"),
        }
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![output_columns.to_vec()])
    }
}
