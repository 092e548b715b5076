//! DISTINCT aggregations in two levels, as Flink's SplitAggregateRule plans them: one by buckets of the
//! distinct values, which spreads a hot key over the subtasks, and one that joins the buckets.
//!
//! ```text
//!   SELECT k, COUNT(DISTINCT a), COUNT(DISTINCT b), AVG(x) FROM t GROUP BY k
//!
//!   Calc            k, $SUM0(2), $SUM0(3), mean_of_parts(…)
//!   GroupAggregate  by k                     $SUM0, $SUM0, $SUM0, $SUM0
//!   GroupAggregate  by k, bucket a, bucket b COUNT(DISTINCT a) FILTER, COUNT(DISTINCT b) FILTER, $SUM0(x) FILTER, …
//!   Calc            …, set = 0, set = 1, set = 3
//!   Expand          (k, bucket a), (k, bucket b), (k)
//!   Calc            …, bucket a, bucket b
//! ```
//!
//! The Expand is only needed where there is more than one distinct column: each row then comes once for each, and
//! once for the calls that are of no bucket, and FILTERs tell them apart.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{Result, ScalarValue, internal_datafusion_err};
use datafusion_expr::{Operator, ScalarUDF};
use datafusion_physical_expr::expressions::{Column, Literal, binary};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::operators::aggregate::{AggregateCall, distinct_bucket_udf};
use datafusion_streaming_physical_plan::operators::calc::CalcNode;
use datafusion_streaming_physical_plan::operators::expand::GroupingSet;
use datafusion_streaming_physical_plan::runtime::StreamExec;
use datafusion_streaming_udfs::aggregate::{
    AggregateKind, Count, StreamingAggregate, Sum0, mean_of_parts_udf,
};

use super::aggregate::{GroupBy, expand, group_aggregate};
use super::appended::Appended;

/// The plan of an aggregation that is to be split into `buckets`; `None` where no call is DISTINCT, or one has
/// no form in two levels: those of Flink's functions that it does not split, and others.
pub(super) fn plan_split(
    by: &GroupBy<'_>,
    calls: &[AggregateCall],
    input: &Arc<dyn ExecutionPlan>,
    buckets: u32,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let parts = calls.iter().map(|call| Part::of(call, input)).collect::<Option<Vec<_>>>();
    let Some(parts) = parts.filter(|_| calls.iter().any(|call| call.distinct)) else { return Ok(None) };
    let (plan, keys, calls) = bucketed(by, calls, input, buckets)?;

    let mut first: Vec<AggregateCall> = vec![];
    for (call, part) in calls.iter().zip(&parts) {
        for (function, return_type) in part.first(call, &plan.schema())? {
            let display = match part.is_mean {
                true => format!("{}[{}]", function.name(), call.display),
                false => call.display.clone(),
            };
            first.push(AggregateCall { function, return_type, display, ..call.clone() });
        }
    }
    let partial = Arc::new(Schema::new(result_fields(&keys, &first, &plan.schema())));
    let plan = group_aggregate(&GroupBy { group: &keys, schema: &partial, ..*by }, first, plan)?;

    // the constants that calls have behind their argument
    let mut columns = Appended::to(&partial);
    let mut last: Vec<AggregateCall> = vec![];
    for part in &parts {
        for _ in 0..if part.is_mean { 2 } else { 1 } {
            let place = keys.len() + last.len();
            let mut args = vec![place];
            args.extend(columns.places(&part.constants)?);
            let result = partial.field(place);
            last.push(AggregateCall {
                function: Arc::clone(&part.last),
                args,
                filter: None,
                distinct: false,
                ignore_nulls: false,
                appends_only: false,
                return_type: result.data_type().clone(),
                display: format!("{}({})", part.last.name(), result.name()),
            });
        }
    }
    let plan = columns.calc(plan)?;
    let group: Vec<usize> = (0..by.group.len()).collect();
    if !parts.iter().any(|part| part.is_mean) {
        return group_aggregate(&GroupBy { group: &group, ..*by }, last, plan).map(Some);
    }
    let joined = Arc::new(Schema::new(result_fields(&group, &last, &plan.schema())));
    let plan = group_aggregate(&GroupBy { group: &group, schema: &joined, ..*by }, last, plan)?;
    with_means(plan, &parts, by.schema).map(Some)
}

/// What a call is in two levels.
struct Part {
    /// Whether it is AVG, which is a sum and a count in between.
    is_mean: bool,
    /// The function of the second level.
    last: Arc<dyn StreamingAggregate>,
    /// The call's arguments behind the first.
    constants: Vec<Arc<dyn PhysicalExpr>>,
}

impl Part {
    fn of(call: &AggregateCall, input: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let constants = call.args.iter().skip(1).map(|arg| constant(input, *arg)).collect::<Option<_>>()?;
        let part = |last| Some(Part { is_mean: false, last, constants });
        match call.function.kind() {
            AggregateKind::Avg => Some(Part { is_mean: true, last: Arc::new(Sum0), constants: vec![] }),
            AggregateKind::Count | AggregateKind::Sum0 => part(Arc::new(Sum0)),
            AggregateKind::Min
            | AggregateKind::Max
            | AggregateKind::Sum
            | AggregateKind::SingleValue
            | AggregateKind::FirstValue
            | AggregateKind::LastValue
            | AggregateKind::ListAgg => part(Arc::clone(&call.function)),
            AggregateKind::Other => None,
        }
    }

    /// The functions of the first level, and the types of their results.
    fn first(
        &self,
        call: &AggregateCall,
        input: &Schema,
    ) -> Result<Vec<(Arc<dyn StreamingAggregate>, DataType)>> {
        let [arg, ..] = call.args.as_slice() else {
            return Ok(vec![(Arc::clone(&call.function), call.return_type.clone())]);
        };
        if !self.is_mean {
            return Ok(vec![(Arc::clone(&call.function), call.return_type.clone())]);
        }
        let sum = Sum0.return_type(&[input.field(*arg).data_type().clone()])?;
        Ok(vec![(Arc::new(Sum0), sum), (Arc::new(Count), DataType::Int64)])
    }
}

/// The constant that a column of the Calc below an aggregation is.
fn constant(input: &Arc<dyn ExecutionPlan>, column: usize) -> Option<Arc<dyn PhysicalExpr>> {
    let calc = input.downcast_ref::<StreamExec>()?.node().downcast_ref::<CalcNode>()?;
    let expression = calc.projection()?.get(column)?;
    expression.is::<Literal>().then(|| Arc::clone(expression))
}

/// The input of the first level, its keys there, and its calls.
type FirstLevel = (Arc<dyn ExecutionPlan>, Vec<usize>, Vec<AggregateCall>);

/// The input with the buckets of distinct values, the keys of the first level, and the calls over it.
///
/// Flink also puts the values of MIN, MAX, FIRST_VALUE and LAST_VALUE into buckets, as they keep all of them
/// where rows are retracted. A column that is grouped by has none: one group has one value of it.
fn bucketed(
    by: &GroupBy<'_>,
    calls: &[AggregateCall],
    input: &Arc<dyn ExecutionPlan>,
    buckets: u32,
) -> Result<FirstLevel> {
    let keeps_all = |kind: AggregateKind| {
        kind.is_extreme() || matches!(kind, AggregateKind::FirstValue | AggregateKind::LastValue)
    };
    let is_split = |call: &AggregateCall| call.distinct || keeps_all(call.function.kind());
    let schema = input.schema();
    let mut columns = Appended::to(&schema);
    // the column that each call is split by, and the bucket of each such column
    let mut split_by: Vec<Option<usize>> = vec![];
    let mut found: Vec<(usize, usize)> = vec![];
    for call in calls {
        let column = call.args.first().filter(|_| is_split(call)).filter(|arg| !by.group.contains(arg));
        split_by.push(column.copied());
        if let Some(column) = column
            && !found.iter().any(|(known, _)| known == column)
        {
            let value = Arc::new(Column::new(schema.field(*column).name(), *column));
            let bucket = function(distinct_bucket_udf(buckets), vec![value], &schema)?;
            found.push((*column, columns.place(&bucket)?));
        }
    }
    let plan = columns.calc(Arc::clone(input))?;
    let keys: Vec<usize> = by.group.iter().copied().chain(found.iter().map(|(_, bucket)| *bucket)).collect();
    let of_key = calls.iter().zip(&split_by).any(|(call, column)| is_split(call) && column.is_none());
    if found.len() + usize::from(of_key) <= 1 {
        return Ok((plan, keys, calls.to_vec()));
    }
    let mut sets: Vec<Option<usize>> = found.iter().map(|(column, _)| Some(*column)).collect();
    if split_by.contains(&None) {
        sets.push(None);
    }
    expanded(plan, &keys, calls, (by.group.len(), &sets, &split_by))
}

/// Expands rows by the sets of keys, and puts the set of each call into its FILTER. A set is the keys that are
/// grouped by, the first ones, and the bucket of the column it names.
fn expanded(
    input: Arc<dyn ExecutionPlan>,
    keys: &[usize],
    calls: &[AggregateCall],
    (grouped, sets, split_by): (usize, &[Option<usize>], &[Option<usize>]),
) -> Result<FirstLevel> {
    let set = |(id, set): (usize, &Option<usize>)| {
        let of_bucket = |bucket: usize| set.is_none() || bucket != id;
        let nulls = (0..keys.len()).map(|key| key >= grouped && of_bucket(key - grouped));
        GroupingSet { nulls: nulls.collect(), id: id as u64 }
    };
    let grouping = sets.iter().enumerate().map(set).collect();
    let mut calls = calls.to_vec();
    let number = Field::new("$set", DataType::UInt32, false);
    let (plan, mut columns) = expand(input, keys.to_vec(), grouping, number, &mut calls)?;
    let number = columns.pop().ok_or_else(|| internal_datafusion_err!("an expansion without its number"))?;

    let schema = plan.schema();
    let mut filters = Appended::to(&schema);
    for (call, column) in calls.iter_mut().zip(split_by) {
        let set = sets.iter().position(|set| set == column).unwrap_or_default();
        let set = Arc::new(Literal::new(ScalarValue::UInt32(Some(set as u32))));
        let mut filter =
            binary(Arc::new(Column::new(schema.field(number).name(), number)), Operator::Eq, set, &schema)?;
        if let Some(own) = call.filter {
            let own = Arc::new(Column::new(schema.field(own).name(), own));
            filter = binary(filter, Operator::And, own, &schema)?;
        }
        call.filter = Some(filters.place(&filter)?);
    }
    Ok((filters.calc(plan)?, columns, calls))
}

/// The fields of an aggregation by these columns.
fn result_fields(keys: &[usize], calls: &[AggregateCall], input: &Schema) -> Vec<Field> {
    let keys = keys.iter().map(|key| input.field(*key).clone());
    let results = calls
        .iter()
        .map(|call| Field::new(&call.display, call.return_type.clone(), call.function.is_nullable()));
    keys.chain(results).collect()
}

/// Joins the sums and counts of AVG.
fn with_means(
    plan: Arc<dyn ExecutionPlan>,
    parts: &[Part],
    schema: &SchemaRef,
) -> Result<Arc<dyn ExecutionPlan>> {
    let input = plan.schema();
    let column =
        |place: usize| Arc::new(Column::new(input.field(place).name(), place)) as Arc<dyn PhysicalExpr>;
    let group = schema.fields().len() - parts.len();
    let mut columns: Vec<_> = (0..group).map(column).collect();
    let mut place = group;
    for part in parts {
        if part.is_mean {
            let mean = mean_of_parts_udf(schema.field(columns.len()).data_type().clone());
            columns.push(function(mean, vec![column(place), column(place + 1)], &input)?);
            place += 1;
        } else {
            columns.push(column(place));
        }
        place += 1;
    }
    StreamExec::plan(CalcNode::project(columns, Arc::clone(schema)), vec![plan])
}

fn function(
    function: ScalarUDF,
    args: Vec<Arc<dyn PhysicalExpr>>,
    input: &Schema,
) -> Result<Arc<dyn PhysicalExpr>> {
    let options = Arc::new(ConfigOptions::default());
    Ok(Arc::new(ScalarFunctionExpr::try_new(Arc::new(function), args, input, options)?))
}
