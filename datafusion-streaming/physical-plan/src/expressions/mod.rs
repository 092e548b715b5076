//! Expressions in the form in which operators evaluate them.
//!
//! Plan nodes keep DataFusion's expressions, which the optimizer and EXPLAIN know; an operator makes its own
//! of them with [`specialized`] when it starts.

mod timestamp_shift;

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_physical_expr::PhysicalExpr;

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
