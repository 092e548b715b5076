//! The logical node of TUMBLE, HOP, CUMULATE and SESSION.

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
    partition_by: Vec<Expr>,
    assigner: WindowAssigner,
    of_group_by: bool,
    schema: DFSchemaRef,
}

impl WindowTvf {
    /// Windows of the column `time` of `input`; sessions are those of rows that agree in the columns
    /// `partition_by`.
    pub fn try_new(
        input: LogicalPlan,
        time: Expr,
        partition_by: Vec<Expr>,
        assigner: WindowAssigner,
    ) -> Result<Self> {
        let schema = schema_of(&input, &time)?;
        if let Some(other) = partition_by.iter().find(|expr| !matches!(expr, Expr::Column(_))) {
            return plan_err!(
                "PARTITION BY of {assigner} takes columns, not {other}; compute it in a subquery"
            );
        }
        Ok(WindowTvf { input, time, partition_by, assigner, of_group_by: false, schema })
    }

    /// The node as that of a window in GROUP BY, such as `GROUP BY TUMBLE(ts, …)`.
    pub fn of_group_by(self) -> Self {
        WindowTvf { of_group_by: true, ..self }
    }

    /// Whether the windows are those of GROUP BY.
    pub fn is_of_group_by(&self) -> bool {
        self.of_group_by
    }

    /// The rows.
    pub fn input(&self) -> &LogicalPlan {
        &self.input
    }

    /// The time column.
    pub fn time(&self) -> &Expr {
        &self.time
    }

    /// The columns that rows of the same sessions agree in.
    pub fn partition_by(&self) -> &[Expr] {
        &self.partition_by
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
        std::iter::once(&self.time).chain(&self.partition_by).cloned().collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WindowTableFunction: window=[{}], time_col=[{}]", self.assigner, self.time)?;
        match self.partition_by.is_empty() {
            true => Ok(()),
            false => {
                let columns: Vec<_> = self.partition_by.iter().map(Expr::to_string).collect();
                write!(f, ", partition=[{}]", columns.join(", "))
            }
        }
    }

    /// The input does not have the columns that the function adds. Of sessions no predicate may pass:
    /// fewer rows make other sessions.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        match self.assigner.is_session() {
            true => self.schema.fields().iter().map(|field| field.name().clone()).collect(),
            false => WINDOW_COLUMNS.map(String::from).into(),
        }
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let mut exprs = exprs.into_iter();
        match (exprs.next(), inputs.into_iter().next()) {
            (Some(time), Some(input)) => {
                let node = WindowTvf::try_new(input, time, exprs.collect(), self.assigner)?;
                Ok(WindowTvf { of_group_by: self.of_group_by, ..node })
            }
            _ => plan_err!("a window function has a table and a time column"),
        }
    }

    /// All input columns are passed on, so those that are wanted of the output and the time are
    /// needed of the input.
    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let width = self.input.schema().fields().len();
        let mut needed: Vec<usize> =
            output_columns.iter().copied().filter(|column| *column < width).collect();
        for expr in self.expressions() {
            let Expr::Column(column) = expr else { return None };
            needed.push(self.input.schema().maybe_index_of_column(&column)?);
        }
        needed.sort_unstable();
        needed.dedup();
        Some(vec![needed])
    }
}
