//! The logical node of TUMBLE, HOP and CUMULATE.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use datafusion::common::{DFSchema, DFSchemaRef, Result, plan_err};
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};
use datafusion_streaming_physical_plan::operators::window_tvf::{WINDOW_COLUMNS, window_tvf_schema};
use datafusion_streaming_physical_plan::time::WindowAssigner;

/// Rows with the windows that they are in. A node of its own rather than a projection, which the
/// optimizer would take apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WindowTvf {
    input: LogicalPlan,
    time: Expr,
    assigner: WindowAssigner,
    schema: DFSchemaRef,
}

impl WindowTvf {
    /// Windows of the column `time` of `input`.
    pub fn try_new(input: LogicalPlan, time: Expr, assigner: WindowAssigner) -> Result<Self> {
        let schema = schema_of(&input, &time)?;
        Ok(WindowTvf { input, time, assigner, schema })
    }

    /// The time column.
    pub fn time(&self) -> &Expr {
        &self.time
    }

    /// How windows are assigned.
    pub fn assigner(&self) -> WindowAssigner {
        self.assigner
    }
}

fn schema_of(input: &LogicalPlan, time: &Expr) -> Result<DFSchemaRef> {
    let Expr::Column(column) = time else {
        return plan_err!("the time column of a window function must be a column, not {time}");
    };
    let index = input.schema().index_of_column(column)?;
    let plain = window_tvf_schema(index, input.schema().as_arrow())?;
    let columns = input.schema().iter().map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field)));
    let width = input.schema().fields().len();
    let added = plain.fields().iter().skip(width).map(|field| (None, Arc::clone(field)));
    let fields = columns.chain(added).collect();
    Ok(Arc::new(DFSchema::new_with_metadata(fields, input.schema().metadata().clone())?))
}

impl PartialOrd for WindowTvf {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.input.partial_cmp(&other.input)
    }
}

impl UserDefinedLogicalNodeCore for WindowTvf {
    fn name(&self) -> &str {
        "WindowTableFunction"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![self.time.clone()]
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WindowTableFunction: window=[{}], time_col=[{}]", self.assigner, self.time)
    }

    /// The input does not have the columns that the function adds.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        WINDOW_COLUMNS.map(String::from).into()
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        match (exprs.into_iter().next(), inputs.into_iter().next()) {
            (Some(time), Some(input)) => WindowTvf::try_new(input, time, self.assigner),
            _ => plan_err!("a window function has a table and a time column"),
        }
    }

    /// All input columns are passed on, so those that are wanted of the output and the time are
    /// needed of the input.
    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let Expr::Column(time) = &self.time else { return None };
        let width = self.input.schema().fields().len();
        let mut needed: Vec<usize> =
            output_columns.iter().copied().filter(|column| *column < width).collect();
        needed.push(self.input.schema().maybe_index_of_column(time)?);
        needed.sort_unstable();
        needed.dedup();
        Some(vec![needed])
    }
}
