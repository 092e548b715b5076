//! The logical node of TO_CHANGELOG.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::{DFSchema, DFSchemaRef, Result, plan_err};
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};
use datafusion_streaming_physical_plan::operators::to_changelog::OpCodes;

/// A changelog as append-only rows, with their kinds in a leading column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToChangelog {
    input: LogicalPlan,
    op: String,
    codes: OpCodes,
    schema: DFSchemaRef,
}

impl ToChangelog {
    /// The changelog of `input`, with what `codes` has for a row's kind in the column `op`.
    pub fn try_new(input: LogicalPlan, op: String, codes: OpCodes) -> Result<Self> {
        let column = (None, Arc::new(Field::new(&op, DataType::Utf8, false)));
        let columns = input.schema().iter().map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field)));
        let fields = std::iter::once(column).chain(columns).collect();
        let schema = Arc::new(DFSchema::new_with_metadata(fields, input.schema().metadata().clone())?);
        Ok(ToChangelog { input, op, codes, schema })
    }

    /// The name of the column with the kinds.
    pub fn op(&self) -> &str {
        &self.op
    }

    /// What is written for each kind.
    pub fn codes(&self) -> &OpCodes {
        &self.codes
    }
}

impl PartialOrd for ToChangelog {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.input.partial_cmp(&other.input)
    }
}

impl UserDefinedLogicalNodeCore for ToChangelog {
    fn name(&self) -> &str {
        "ToChangelog"
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
        f.write_str("ToChangelog")
    }

    /// A filter above keeps changes by their content; below it would turn updates into others.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        match inputs.into_iter().next() {
            Some(input) => ToChangelog::try_new(input, self.op.clone(), self.codes.clone()),
            None => plan_err!("TO_CHANGELOG takes a table"),
        }
    }
}
