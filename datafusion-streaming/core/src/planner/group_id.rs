//! GROUP_ID: which of equal grouping sets a row is of.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result, ScalarValue, plan_err};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::utils::grouping_set_to_exprlist;
use datafusion::logical_expr::{
    Accumulator, Aggregate, AggregateUDF, AggregateUDFImpl, Expr, LogicalPlan, LogicalPlanBuilder, Signature,
    Volatility, bitwise_shift_right, cast, lit,
};
use datafusion::optimizer::AnalyzerRule;

const NAME: &str = "group_id";

/// `GROUP_ID()`, as the SQL planner takes it: a call in an aggregation. [`ResolveGroupId`] puts a number in
/// its place.
pub(crate) fn group_id_udaf() -> AggregateUDF {
    AggregateUDF::from(GroupId { signature: Signature::nullary(Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct GroupId {
    signature: Signature,
}

impl AggregateUDFImpl for GroupId {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn is_nullable(&self) -> bool {
        false
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        plan_err!("GROUP_ID may only occur in a query with GROUP BY")
    }
}

/// Replaces `GROUP_ID()`, a BIGINT: 0, and where a grouping set is written more than once how many times it
/// came before. It runs before DataFusion's rule for GROUPING, which does the same with other bits of the
/// number of a set.
#[derive(Debug)]
pub(crate) struct ResolveGroupId;

impl AnalyzerRule for ResolveGroupId {
    fn name(&self) -> &str {
        "resolve_group_id"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(resolve)?.data)
    }
}

fn resolve(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let aggregate = match plan {
        LogicalPlan::Aggregate(aggregate) if aggregate.aggr_expr.iter().any(is_group_id) => aggregate,
        other => return Ok(Transformed::no(other)),
    };
    if aggregate.group_expr.is_empty() {
        return plan_err!("GROUP_ID may only occur in a query with GROUP BY");
    }
    let number = number_of_set(&aggregate)?;
    let columns = aggregate.schema.columns();
    let (group, results) = columns.split_at(columns.len() - aggregate.aggr_expr.len());
    let group = group.iter().filter(|column| column.name() != Aggregate::INTERNAL_GROUPING_ID);
    let mut projected: Vec<Expr> = group.cloned().map(Expr::Column).collect();
    let mut calls = vec![];
    for (call, column) in aggregate.aggr_expr.into_iter().zip(results) {
        if is_group_id(&call) {
            projected.push(number.clone().alias_qualified(column.relation.clone(), column.name()));
        } else {
            projected.push(Expr::Column(column.clone()));
            calls.push(call);
        }
    }
    let aggregate = Aggregate::try_new(aggregate.input, aggregate.group_expr, calls)?;
    let plan = LogicalPlanBuilder::new_from_arc(Arc::new(LogicalPlan::Aggregate(aggregate)));
    Ok(Transformed::yes(plan.project(projected)?.build()?))
}

fn is_group_id(call: &Expr) -> bool {
    match call {
        Expr::AggregateFunction(function) => function.func.name() == NAME,
        Expr::Alias(alias) => is_group_id(&alias.expr),
        _ => false,
    }
}

/// How many times the grouping set of a row came before: what stands above its bits in the number of the set.
fn number_of_set(aggregate: &Aggregate) -> Result<Expr> {
    let [Expr::GroupingSet(_)] = aggregate.group_expr.as_slice() else { return Ok(lit(0_i64)) };
    let id = aggregate.schema.field_with_name(None, Aggregate::INTERNAL_GROUPING_ID)?.data_type().clone();
    let bits = grouping_set_to_exprlist(&aggregate.group_expr)?.len();
    if id.primitive_width().is_none_or(|width| bits >= 8 * width) {
        return Ok(lit(0_i64));
    }
    let bits = ScalarValue::UInt64(Some(bits as u64)).cast_to(&id)?;
    let set = Expr::Column(Column::from(Aggregate::INTERNAL_GROUPING_ID));
    Ok(cast(bitwise_shift_right(set, Expr::Literal(bits, None)), DataType::Int64))
}
