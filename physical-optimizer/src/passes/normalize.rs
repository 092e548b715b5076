//! Filters on normalised changelogs.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::operators::calc::CalcNode;
use datafusion_streaming_physical_plan::operators::changelog_normalize::ChangelogNormalizeNode;
use datafusion_streaming_physical_plan::runtime::StreamExec;

/// A filter made part of the normalisation below it, as Flink does: a row that fails it is not kept,
/// and the kinds are those of the filtered table. `None`: there is none below, or it has a filter.
pub(super) fn filtered(
    predicate: &Arc<dyn PhysicalExpr>,
    input: &Arc<dyn ExecutionPlan>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(stream) = input.downcast_ref::<StreamExec>() else { return Ok(None) };
    if let Some(node) = stream.node().downcast_ref::<ChangelogNormalizeNode>() {
        return match node.filtered(Arc::clone(predicate)) {
            Some(node) => StreamExec::plan(node, stream.inputs().to_vec()).map(Some),
            None => Ok(None),
        };
    }
    // between the two there may be a choice of columns
    let Some(calc) = stream.node().downcast_ref::<CalcNode>() else { return Ok(None) };
    let (Some(columns), [below]) = (calc.input_columns(), stream.inputs()) else { return Ok(None) };
    let schema = below.schema();
    let moved = Arc::clone(predicate).transform_up(|expression| {
        Ok(match expression.downcast_ref::<Column>() {
            Some(column) => {
                let place = columns[column.index()];
                Transformed::yes(Arc::new(Column::new(schema.field(place).name(), place)) as _)
            }
            None => Transformed::no(expression),
        })
    })?;
    match filtered(&moved.data, below)? {
        Some(below) => {
            let calc = Arc::new(calc.clone());
            Ok(Some(Arc::new(StreamExec::try_new(calc, vec![below])?)))
        }
        None => Ok(None),
    }
}
