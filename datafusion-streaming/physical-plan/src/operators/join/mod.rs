//! Joins.
//!
//! | operator | what it does |
//! |---|---|
//! | [`regular`] | joins of two changelogs, of all that has come on either side |
//! | [`interval`] | rows of two streams whose times are near each other |
//! | [`temporal`] | rows with the versions of a table at their time |
//! | [`lookup`] | rows with what a table has for their keys now |

mod candidates;
mod emission;
mod side;
mod side_rows;

pub mod interval;
pub mod lookup;
pub mod regular;
pub mod temporal;

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion_common::{JoinSide, Result};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::joins::utils::{ColumnIndex, JoinFilter};

pub use self::emission::OutputColumn;
use crate::expressions::specialized;
use crate::state::shown_bytes;

/// The left input's port.
pub const LEFT: usize = 0;
/// The right input's port.
pub const RIGHT: usize = 1;

/// The most pairs of rows that are looked at, or put out, at once.
const MAX_PAIRS: usize = 4096;

/// The most bytes that the rows of these pairs have.
const MAX_PAIR_BYTES: usize = 8 << 20;

/// How many pairs of this size are looked at at once.
fn pairs_at_once(pair_bytes: usize) -> usize {
    (MAX_PAIR_BYTES / pair_bytes.max(1)).clamp(1, MAX_PAIRS)
}

/// The mean size of the rows of some columns, in bytes.
fn row_bytes(columns: &[ArrayRef], rows: usize) -> usize {
    shown_bytes(columns) / rows.max(1)
}

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
        column: impl Fn(usize, usize) -> Result<ArrayRef>,
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, StringArray};

    use super::{MAX_PAIRS, pairs_at_once, row_bytes};

    #[test]
    fn wide_pairs_are_looked_at_few_at_a_time() {
        assert_eq!(pairs_at_once(0), MAX_PAIRS);
        assert_eq!(pairs_at_once(64), MAX_PAIRS);
        assert_eq!(pairs_at_once(8192), 1024);
        assert_eq!(pairs_at_once(100 << 20), 1);
    }

    #[test]
    fn a_slice_is_as_wide_as_its_rows() {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..1000).map(|_| "x".repeat(100))));
        assert!((108..=116).contains(&row_bytes(&[Arc::clone(&numbers), Arc::clone(&texts)], 1000)));
        assert!((108..=125).contains(&row_bytes(&[numbers.slice(5, 1), texts.slice(5, 1)], 1)));
    }
}
