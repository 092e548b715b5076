//! Expressions in the form in which operators evaluate them.
//!
//! Plan nodes keep DataFusion's expressions, which the optimizer and EXPLAIN know; an operator makes its own
//! of them with [`specialized`] when it starts.

mod timestamp_shift;

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion_common::Result;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;

use timestamp_shift::TimestampShift;

/// The same expression over columns of `schema`, with faster forms of what is slow per row: a timestamp
/// plus or minus a constant interval becomes an addition.
pub(crate) fn specialized(expression: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Arc<dyn PhysicalExpr> {
    let replace = |expression: Arc<dyn PhysicalExpr>| {
        Ok(match TimestampShift::of(&expression, schema) {
            Some(shift) => Transformed::yes(Arc::new(shift) as Arc<dyn PhysicalExpr>),
            None => Transformed::no(expression),
        })
    };
    // an expression that does not take other children stays as it is
    Arc::clone(expression).transform_up(replace).data().unwrap_or_else(|_| Arc::clone(expression))
}

/// An expression over the columns of an input, with these expressions in place of the columns: by place, and a
/// column beyond them stays.
pub fn substituted(
    expression: Arc<dyn PhysicalExpr>,
    columns: &[Arc<dyn PhysicalExpr>],
) -> Result<Arc<dyn PhysicalExpr>> {
    let replace = |part: Arc<dyn PhysicalExpr>| {
        let column = part.downcast_ref::<Column>().and_then(|column| columns.get(column.index()));
        Ok(match column {
            Some(replacement) => Transformed::yes(Arc::clone(replacement)),
            None => Transformed::no(part),
        })
    };
    expression.transform_up(replace).data()
}
