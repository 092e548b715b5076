//! Projections and filters in a row as one node.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::operators::calc::CalcNode;
use datafusion_streaming_physical_plan::runtime::StreamExec;

/// Makes one Calc of those that follow each other, as Flink's `FlinkCalcMergeRule` does, unless something
/// would be computed twice.
pub(crate) fn merge(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        Ok(match merged(&plan)? {
            Some(merged) => Transformed::yes(merged),
            None => Transformed::no(plan),
        })
    })
    .data()
}

fn merged(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some((calc, [input])) = calc_of(plan) else { return Ok(None) };
    let Some((below, inputs)) = calc_of(input) else { return Ok(None) };
    match calc.merged_with(below)? {
        Some(calc) => StreamExec::plan(calc, inputs.to_vec()).map(Some),
        None => Ok(None),
    }
}

fn calc_of(plan: &Arc<dyn ExecutionPlan>) -> Option<(&CalcNode, &[Arc<dyn ExecutionPlan>])> {
    let stream = plan.downcast_ref::<StreamExec>()?;
    Some((stream.node().downcast_ref::<CalcNode>()?, stream.inputs()))
}
