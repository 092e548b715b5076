//! Two projections and filters in a row as one.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::utils::conjunction;

use super::CalcNode;
use crate::expressions::substituted;
use crate::runtime::StreamNode;

impl CalcNode {
    /// One node that does what `input` and then this one does. `None` where an expression of `input` would
    /// be computed more than once, or where a node asks for the watermark, which is another behind each.
    pub fn merged_with(&self, input: &CalcNode) -> Result<Option<CalcNode>> {
        if self.reads_watermark() || input.reads_watermark() {
            return Ok(None);
        }
        let (filter, projection) = match &input.projection {
            None => (self.filter.clone(), self.projection.clone()),
            Some(columns) if self.computes_twice(columns)? => return Ok(None),
            Some(columns) => {
                let put = |expression: &Arc<dyn PhysicalExpr>| substituted(Arc::clone(expression), columns);
                let projection = match &self.projection {
                    Some(projection) => projection.iter().map(put).collect::<Result<_>>()?,
                    None => columns.clone(),
                };
                (self.filter.as_ref().map(put).transpose()?, Some(projection))
            }
        };
        let filters: Vec<_> = input.filter.iter().cloned().chain(filter).collect();
        let filter = (!filters.is_empty()).then(|| conjunction(filters));
        Ok(Some(CalcNode { filter, projection, schema: Arc::clone(&self.schema) }))
    }

    /// Whether the node would compute one of the expressions twice that its input columns are.
    fn computes_twice(&self, columns: &[Arc<dyn PhysicalExpr>]) -> Result<bool> {
        // without a projection each is put out
        let mut uses = vec![usize::from(self.projection.is_none()); columns.len()];
        for expression in self.expressions() {
            expression.apply(|part| {
                let column = part.downcast_ref::<Column>();
                if let Some(uses) = column.and_then(|column| uses.get_mut(column.index())) {
                    *uses += 1;
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        Ok(columns.iter().zip(uses).any(|(column, uses)| !column.is::<Column>() && uses > 1))
    }
}
