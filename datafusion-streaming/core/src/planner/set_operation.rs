//! The logical node of INTERSECT ALL and EXCEPT ALL, which DataFusion plans as joins that do not count.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use datafusion::common::{DFSchema, DFSchemaRef, Result, plan_datafusion_err, plan_err};
use datafusion::logical_expr::type_coercion::binary::type_union_resolution;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, UserDefinedLogicalNodeCore, cast};
use datafusion_streaming_physical_plan::operators::set_operation::SetOperation;
use datafusion_streaming_udfs::common_type::common_type;
use datafusion_streaming_udfs::timestamps::has_wide_timestamps;

/// INTERSECT ALL or EXCEPT ALL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CountingSetOperation {
    operation: SetOperation,
    inputs: [LogicalPlan; 2],
    schema: DFSchemaRef,
}

impl CountingSetOperation {
    /// An operation on two inputs with as many columns, which get common types. The names are those of
    /// the left input.
    pub fn try_new(operation: SetOperation, left: LogicalPlan, right: LogicalPlan) -> Result<Self> {
        let (a, b) = (left.schema(), right.schema());
        if a.fields().len() != b.fields().len() {
            return plan_err!(
                "{operation}: the left side has {} columns, the right side {}",
                a.fields().len(),
                b.fields().len()
            );
        }
        let mut types = vec![];
        for (a, b) in a.fields().iter().zip(b.fields()) {
            let (left, right) = (a.data_type(), b.data_type());
            let wide = has_wide_timestamps(left) || has_wide_timestamps(right);
            let common = match wide {
                true => common_type(left, right),
                false => type_union_resolution(&[left.clone(), right.clone()]),
            };
            types.push(common.ok_or_else(|| {
                plan_datafusion_err!(
                    "{operation}: {} is of type {}, but {} of type {}",
                    a.name(),
                    a.data_type(),
                    b.name(),
                    b.data_type()
                )
            })?);
        }
        let coerced = |plan: LogicalPlan| {
            let columns = plan.schema().iter().zip(&types).map(|((qualifier, field), common)| {
                let column = Expr::Column((qualifier, field).into());
                let column = match field.data_type() == common {
                    true => column,
                    false => cast(column, common.clone()),
                };
                column.alias(field.name())
            });
            let columns: Vec<_> = columns.collect();
            LogicalPlanBuilder::from(plan).project(columns)?.build()
        };
        let (left, right) = (coerced(left)?, coerced(right)?);
        let nullable = left.schema().fields().iter().zip(right.schema().fields());
        let fields = nullable.map(|(left, right)| {
            let nullable = left.is_nullable() || right.is_nullable();
            (None, Arc::new(left.as_ref().clone().with_nullable(nullable)))
        });
        let schema = Arc::new(DFSchema::new_with_metadata(fields.collect(), Default::default())?);
        Ok(CountingSetOperation { operation, inputs: [left, right], schema })
    }

    /// The operation.
    pub fn operation(&self) -> SetOperation {
        self.operation
    }
}

impl PartialOrd for CountingSetOperation {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self.operation, &self.inputs).partial_cmp(&(other.operation, &other.inputs))
    }
}

impl UserDefinedLogicalNodeCore for CountingSetOperation {
    fn name(&self) -> &str {
        "SetOperation"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        self.inputs.iter().collect()
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![]
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SetOperation: {}", self.operation)
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        match <[LogicalPlan; 2]>::try_from(inputs) {
            Ok(inputs) => Ok(CountingSetOperation { inputs, ..self.clone() }),
            Err(_) => plan_err!("{} takes two tables", self.operation),
        }
    }
}
