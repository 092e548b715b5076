//! Values that cannot be taken back, because they would be others the next time.

use std::sync::Arc;

use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_common::{Result, plan_err};
use datafusion_expr::Volatility;
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::changelog::ChangelogMode;
use datafusion_streaming_physical_plan::config::NonDeterministicUpdates;
use datafusion_streaming_physical_plan::operators::calc::CalcNode;
use datafusion_streaming_physical_plan::runtime::StreamExec;

use super::PlanContext;

/// Refuses functions that give another value at each call, such as `UUID()`, where they are computed of
/// rows that may be taken back: what is taken back then is not what was there. In columns that nobody
/// goes by they may stand: those of a table that is written by a key which they are not part of.
pub(crate) fn check(plan: &Arc<dyn ExecutionPlan>, context: &PlanContext) -> Result<()> {
    match context.options.non_deterministic_update {
        NonDeterministicUpdates::Ignore => Ok(()),
        NonDeterministicUpdates::TryResolve => {
            let all: Vec<usize> = (0..plan.schema().fields().len()).collect();
            check_columns(plan, &all)
        }
    }
}

/// Checks what the columns `needed` of a plan depend on.
fn check_columns(plan: &Arc<dyn ExecutionPlan>, needed: &[usize]) -> Result<()> {
    let Some(stream) = plan.downcast_ref::<StreamExec>() else {
        return plan.children().into_iter().try_for_each(|child| {
            let all: Vec<usize> = (0..child.schema().fields().len()).collect();
            check_columns(child, &all)
        });
    };
    let node = stream.node();
    let mode = |input: &Arc<dyn ExecutionPlan>| {
        input.downcast_ref::<StreamExec>().map_or(ChangelogMode::INSERT_ONLY, |input| input.traits().mode)
    };
    if let Some(mode) = stream.inputs().iter().map(mode).find(|mode| !mode.is_insert_only()) {
        match node.downcast_ref::<CalcNode>().map(CalcNode::parts) {
            Some((filter, Some(projection))) => {
                let put_out = needed.iter().filter_map(|column| projection.get(*column));
                filter
                    .into_iter()
                    .chain(put_out)
                    .try_for_each(|expression| check_expression(expression, mode))?;
            }
            _ => node
                .expressions()
                .into_iter()
                .try_for_each(|expression| check_expression(expression, mode))?,
        }
    }
    for (number, input) in stream.inputs().iter().enumerate() {
        let columns = node.required_upsert_key(number).or_else(|| node.depends_on(number, needed));
        let columns = columns.unwrap_or_else(|| (0..input.schema().fields().len()).collect());
        check_columns(input, &columns)?;
    }
    Ok(())
}

fn check_expression(expression: &Arc<dyn PhysicalExpr>, mode: ChangelogMode) -> Result<()> {
    let mut volatile = None;
    expression.apply(|expression| {
        let function = expression.downcast_ref::<ScalarFunctionExpr>();
        let function = function.filter(|call| call.fun().signature().volatility == Volatility::Volatile);
        volatile = function.map(|call| call.name().to_ascii_uppercase());
        Ok(if volatile.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    match volatile {
        None => Ok(()),
        Some(function) => plan_err!(
            "{function}() gives another value each time, but is computed of rows that may be taken back (mode=[{mode}]): what \
             is taken back would not be what was there. Compute it of rows that are only inserted, leave it out, or \
             insert into a table whose PRIMARY KEY is the key of the query and does not depend on it; or accept wrong \
             results by SET 'table.optimizer.non-deterministic-update.strategy' = 'IGNORE'"
        ),
    }
}
