//! Joins.
//!
//! | operator | what it does |
//! |---|---|
//! | [`regular`] | joins of two changelogs, of all that has come on either side |
//! | [`interval`] | rows of two streams whose times are near each other |
//! | [`temporal`] | rows with the versions of a table at their time |

mod candidates;
mod emission;
mod side;

pub mod interval;
pub mod regular;
pub mod temporal;

use std::fmt;
use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion_common::{JoinSide, Result};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::joins::utils::{ColumnIndex, JoinFilter};

pub use self::emission::OutputColumn;
use crate::expressions::specialized;

/// The left input's port.
pub const LEFT: usize = 0;
/// The right input's port.
pub const RIGHT: usize = 1;

/// What a pair of rows must fulfil besides equal keys: an expression over some columns of both.
#[derive(Debug, Clone)]
pub struct Residual {
    expression: Arc<dyn PhysicalExpr>,
    /// The same in its fast form.
    evaluated: Arc<dyn PhysicalExpr>,
    columns: Vec<(usize, usize)>,
    schema: SchemaRef,
}

impl Residual {
    /// An expression over columns, each given as its input's port and its place there, that have the
    /// types in `schema`.
    pub fn new(expression: Arc<dyn PhysicalExpr>, columns: Vec<(usize, usize)>, schema: SchemaRef) -> Self {
        let schema = nullable(&schema);
        Residual { evaluated: specialized(&expression, &schema), expression, columns, schema }
    }

    /// The condition of a DataFusion join.
    pub fn of(filter: &JoinFilter) -> Self {
        let column = |column: &ColumnIndex| match column.side {
            JoinSide::Right => (RIGHT, column.index),
            JoinSide::Left | JoinSide::None => (LEFT, column.index),
        };
        let columns = filter.column_indices().iter().map(column).collect();
        Residual::new(Arc::clone(filter.expression()), columns, Arc::clone(filter.schema()))
    }

    /// The expression, over [`Residual::columns`].
    pub fn expression(&self) -> &Arc<dyn PhysicalExpr> {
        &self.expression
    }

    /// The columns of the expression: port and place.
    pub fn columns(&self) -> &[(usize, usize)] {
        &self.columns
    }

    /// The schema of the expression's columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// For which of `rows` pairs the condition is true; `column` gives a column of the pairs.
    fn evaluate(
        &self,
        rows: usize,
        column: impl Fn(usize, usize) -> Result<arrow::array::ArrayRef>,
    ) -> Result<BooleanArray> {
        let columns =
            self.columns.iter().map(|(port, place)| column(*port, *place)).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let pairs = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        Ok(self.evaluated.evaluate(&pairs)?.into_array(rows)?.as_boolean().clone())
    }
}

/// The columns, that may all be NULL: those of a side without a match are, whatever they declare.
fn nullable(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
}

impl fmt::Display for Residual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.expression)
    }
}

#[cfg(test)]
mod testing;
