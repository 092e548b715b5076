//! LATE_ROWS: the rows that the windows of a query drop, as a table.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchemaRef, Result, plan_err};
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};

use super::{WindowTvf, plan_group_windows};

/// `LATE_ROWS(TABLE q)`: of the rows that go into the window function of the query `q` those that are late
/// for all of their windows. What `q` makes of its windows does not matter: filters above the window
/// function do not count, those below it do.
///
/// An extension of Flink's SQL. The rows are told apart once more, beside the query that drops them:
///
/// ```sql
/// CREATE VIEW totals AS SELECT window_start, SUM(amount) AS total
///   FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' HOUR)) GROUP BY window_start, window_end;
/// EXECUTE STATEMENT SET BEGIN
///   INSERT INTO hourly SELECT * FROM totals;
///   INSERT INTO too_late SELECT * FROM LATE_ROWS(TABLE totals);
/// END
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LateRows {
    input: LogicalPlan,
    /// The window function, over the same columns.
    windows: WindowTvf,
}

impl LateRows {
    /// The late rows of a query.
    ///
    /// # Errors
    /// If the query does not have exactly one window function.
    pub fn of(query: LogicalPlan) -> Result<Self> {
        let query = plan_group_windows(query)?;
        let mut found = vec![];
        query.apply_with_subqueries(|plan| {
            if let LogicalPlan::Extension(extension) = plan
                && let Some(windows) = extension.node.as_any().downcast_ref::<WindowTvf>()
            {
                found.push(windows.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        match found.len() {
            1 => {
                let windows = found.swap_remove(0);
                Ok(LateRows { input: windows.input().clone(), windows })
            }
            0 => plan_err!(
                "LATE_ROWS takes a query with windows, such as (SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), \
                 INTERVAL '1' MINUTE))), but there is no window function in it"
            ),
            count => plan_err!(
                "LATE_ROWS takes a query with one window function, but there are {count}: ask for the late rows of each"
            ),
        }
    }

    /// The window function.
    pub fn windows(&self) -> &WindowTvf {
        &self.windows
    }
}

impl PartialOrd for LateRows {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.windows.partial_cmp(&other.windows)
    }
}

impl UserDefinedLogicalNodeCore for LateRows {
    fn name(&self) -> &str {
        "LateRows"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        UserDefinedLogicalNodeCore::expressions(&self.windows)
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LateRows: {}", self.windows.assigner())
    }

    /// Of sessions no predicate may pass: fewer rows make other sessions.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        match self.windows.assigner().is_session() {
            true => self.input.schema().fields().iter().map(|field| field.name().clone()).collect(),
            false => HashSet::new(),
        }
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let windows = self.windows.with_exprs_and_inputs(exprs, inputs)?;
        Ok(LateRows { input: windows.input().clone(), windows })
    }

    /// The columns that are wanted, and those that the windows go by.
    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        self.windows.necessary_children_exprs(output_columns)
    }
}
