//! Two projections and filters in a row as one.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::utils::conjunction;

use super::CalcNode;
use crate::runtime::StreamNode;

impl CalcNode {
    /// One node that does what `input` and then this one does. `None` where an expression of `input` would
    /// be computed more than once, or where a node asks for the watermark, which is another behind each.
    pub fn merged_with(&self, input: &CalcNode) -> Result<Option<CalcNode>> {
        if self.reads_watermark() || input.reads_watermark() {
            return Ok(None);
        }
        let columns = input.projection.as_deref();
        let mut uses = vec![0; columns.map_or(0, <[_]>::len)];
        let passed_on = self.projection.is_none().then_some(columns).flatten();
        for expression in self.expressions() {
            count_uses(expression, &mut uses)?;
        }
        if passed_on.is_some() {
            uses.iter_mut().for_each(|uses| *uses += 1);
        }
        let is_computed = |expression: &Arc<dyn PhysicalExpr>| expression.downcast_ref::<Column>().is_none();
        let computed = columns.into_iter().flatten().map(is_computed);
        if computed.zip(&uses).any(|(is_computed, uses)| is_computed && *uses > 1) {
            return Ok(None);
        }
        let put = |expression: &Arc<dyn PhysicalExpr>| match columns {
            Some(columns) => put_columns(expression, columns),
            None => Ok(Arc::clone(expression)),
        };
        let filter = self.filter.as_ref().map(put).transpose()?;
        let filters: Vec<_> = input.filter.iter().cloned().chain(filter).collect();
        let projection = match (&self.projection, passed_on) {
            (Some(projection), _) => Some(projection.iter().map(put).collect::<Result<_>>()?),
            (None, passed_on) => passed_on.map(<[_]>::to_vec),
        };
        let filter = (!filters.is_empty()).then(|| conjunction(filters));
        Ok(Some(CalcNode { filter, projection, schema: Arc::clone(&self.schema) }))
    }
}

/// Counts how often an expression refers to each column of its input.
fn count_uses(expression: &Arc<dyn PhysicalExpr>, uses: &mut [usize]) -> Result<()> {
    expression.apply(|part| {
        let uses = part.downcast_ref::<Column>().and_then(|column| uses.get_mut(column.index()));
        if let Some(uses) = uses {
            *uses += 1;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// An expression over columns with what these are put in.
fn put_columns(
    expression: &Arc<dyn PhysicalExpr>,
    columns: &[Arc<dyn PhysicalExpr>],
) -> Result<Arc<dyn PhysicalExpr>> {
    let put = |part: Arc<dyn PhysicalExpr>| {
        let column = part.downcast_ref::<Column>().and_then(|column| columns.get(column.index()));
        Ok(match column {
            Some(expression) => Transformed::yes(Arc::clone(expression)),
            None => Transformed::no(part),
        })
    };
    Arc::clone(expression).transform_up(put).data()
}
