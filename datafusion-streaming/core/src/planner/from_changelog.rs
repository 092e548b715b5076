//! The logical node of FROM_CHANGELOG.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use datafusion::common::{DFSchema, DFSchemaRef, Result, plan_err};
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};
use datafusion_streaming_physical_plan::changelog::RowKind;

/// Rows, one column of which says what they change, as a changelog.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FromChangelog {
    input: LogicalPlan,
    op: String,
    codes: Vec<(String, RowKind)>,
    schema: DFSchemaRef,
}

impl FromChangelog {
    /// The changelog that `input` describes in its column `op` by these codes.
    pub fn try_new(input: LogicalPlan, op: String, codes: Vec<(String, RowKind)>) -> Result<Self> {
        let Some(place) = input.schema().index_of_column_by_name(None, &op) else {
            return plan_err!(
                "FROM_CHANGELOG: the input has no column {op}; name it by op => DESCRIPTOR(column)"
            );
        };
        let columns = input.schema().iter().enumerate().filter(|(column, _)| *column != place);
        let fields = columns.map(|(_, (qualifier, field))| (qualifier.cloned(), Arc::clone(field))).collect();
        let schema = Arc::new(DFSchema::new_with_metadata(fields, input.schema().metadata().clone())?);
        Ok(FromChangelog { input, op, codes, schema })
    }

    /// The place of the column with the kinds.
    pub fn op(&self) -> Result<usize> {
        match self.input.schema().index_of_column_by_name(None, &self.op) {
            Some(place) => Ok(place),
            None => plan_err!("FROM_CHANGELOG: the input has no column {}", self.op),
        }
    }

    /// The kind that each code stands for.
    pub fn codes(&self) -> &[(String, RowKind)] {
        &self.codes
    }
}

impl PartialOrd for FromChangelog {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (&self.input, &self.op).partial_cmp(&(&other.input, &other.op))
    }
}

impl UserDefinedLogicalNodeCore for FromChangelog {
    fn name(&self) -> &str {
        "FromChangelog"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![]
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FromChangelog: op=[{}]", self.op)
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        match inputs.into_iter().next() {
            Some(input) => FromChangelog::try_new(input, self.op.clone(), self.codes.clone()),
            None => plan_err!("FROM_CHANGELOG takes a table"),
        }
    }
}
