//! Aggregations: the window aggregate where the windows of the input are grouped by, else the group
//! aggregate.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion_common::{Result, internal_err, plan_err};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::aggregate::AggregateFunctionExpr;
use datafusion_physical_expr::expressions::{Column, Literal, cast};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::aggregates::{AggregateExec, AggregateInputMode, AggregateOutputMode};
use datafusion_streaming_physical_plan::operators::aggregate::{
    AdaptedAggregate, AggregateCall, arguments_read,
};
use datafusion_streaming_physical_plan::operators::calc::CalcNode;
use datafusion_streaming_physical_plan::operators::expand::{ExpandNode, GroupingSet};
use datafusion_streaming_physical_plan::operators::group_aggregate::GroupAggregateNode;
use datafusion_streaming_physical_plan::operators::local_group_aggregate::LocalGroupAggregateNode;
use datafusion_streaming_physical_plan::operators::window_aggregate::{
    EmitStrategy, GroupColumn, WindowAggregateNode,
};
use datafusion_streaming_physical_plan::runtime::{Monotonicity, StreamExec, WindowProperties};
use datafusion_streaming_udfs::aggregate::{
    AggregateKind, FlinkAggregateUdf, StreamingAggregate, streaming_aggregate_of,
};

use super::appended::traits_of;
use super::emit_strategy::emit_strategy;
use super::exchange::is_parted_by;
use super::session::{BySession, plan_session_aggregate};
use super::slices::{plan_slices, plan_windows};
use super::split_distinct::plan_split;
use super::state_ttl::hinted_ttl;
use super::{Phases, PlanContext};

/// Whether an aggregation gives results, not partial state.
pub(super) fn is_final(aggregate: &AggregateExec) -> bool {
    aggregate.mode().output_mode() == AggregateOutputMode::Final
}

/// The streaming form of an aggregation that gives results. Its partial phase, if it has one, is
/// passed over: `input` makes the input of the first phase streaming.
pub(super) fn plan_aggregate(
    aggregate: &AggregateExec,
    context: &PlanContext,
    input: impl Fn(Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let first = first_phase(aggregate)?;
    let input = input(Arc::clone(first.input()))?;
    let mut columns = InputColumns::new(input.schema());
    let group = first.group_expr().expr().iter();
    let group: Vec<usize> =
        group.map(|(expression, name)| columns.add(expression, name)).collect::<Result<_>>()?;
    let filters = first.filter_expr().iter();
    let calls = first.aggr_expr().iter().zip(filters);
    let calls = calls
        .map(|(call, filter)| plan_call(call, filter.as_ref(), &mut columns))
        .collect::<Result<Vec<_>>>()?;

    let mut input = columns.calc(input)?;
    let (mut group, mut calls) = (group, calls);
    if first.group_expr().has_grouping_set() {
        let sets = grouping_sets(first.group_expr().groups());
        let id = aggregate.schema().field(group.len()).clone();
        (input, group) = expand(input, group, sets, id, &mut calls)?;
    }
    let calls: Vec<_> = calls.into_iter().map(|call| without_needless_retraction(call, &input)).collect();
    let schema = aggregate.schema();
    let Some(stream) = input.downcast_ref::<StreamExec>() else {
        return internal_err!("the input of an aggregation does not stream");
    };
    let mode = stream.traits().mode;
    let mut by_window = window_group(&group, stream);
    let emit = match &by_window {
        Some((_, window, _)) => emit_strategy(window, &input, &calls, context)?,
        None => EmitStrategy::AT_END,
    };
    if let Some((by, window, _)) = &mut by_window
        && window.assigner.is_session()
    {
        match plan_session_aggregate(by, &calls, &input, &schema, context)? {
            BySession::Planned(plan) => return Ok(plan),
            BySession::Ordinary => by_window = None,
            BySession::Attached => starts_as_keys(by, &group),
        }
    }
    if let Some((by, window, end)) = by_window {
        if !emit.updates()
            && let Some(plan) = plan_slices(&by, &calls, &input, &schema, context)?
        {
            return Ok(plan);
        }
        let node =
            WindowAggregateNode::new(by, window, end, context.zone, calls, input.schema(), schema, mode);
        return plan_windows(node.with_emit(emit), &input, context);
    }
    if let Some(node) = needless(&group, &calls, stream, &schema)? {
        return StreamExec::plan(node, vec![input]);
    }
    let ttl = hinted_ttl(&input).unwrap_or_else(|| context.state_ttl());
    let by = GroupBy { group: &group, schema: &schema, ttl, context };
    if let Some(buckets) = context.distinct_buckets()
        && let Some(plan) = plan_split(&by, &calls, &input, buckets)?
    {
        return Ok(plan);
    }
    group_aggregate(&by, calls, input)
}

/// How rows are grouped.
#[derive(Clone, Copy)]
pub(super) struct GroupBy<'a> {
    /// The columns that are grouped by.
    pub group: &'a [usize],
    /// The schema of the result: these columns, and the results of the calls.
    pub schema: &'a SchemaRef,
    /// The state's time to live in milliseconds, 0 for ever.
    pub ttl: i64,
    pub context: &'a PlanContext,
}

/// The group aggregation, in one phase or two.
pub(super) fn group_aggregate(
    by: &GroupBy<'_>,
    calls: Vec<AggregateCall>,
    input: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let calls: Vec<_> = calls.into_iter().map(|call| without_needless_retraction(call, &input)).collect();
    let (group, mode) = (by.group.to_vec(), traits_of(&input)?.mode);
    let schema = Arc::clone(by.schema);
    let node = GroupAggregateNode::new(group.clone(), calls.clone(), input.schema(), schema, mode, by.ttl);
    let Some(bundling) = by.context.bundling() else { return StreamExec::plan(node, vec![input]) };
    // what is in its partition already need not be made less for the way
    let parted = by.context.parallelism > 1 && is_parted_by(&input, by.group);
    if parted || !is_mergeable(&calls) || by.context.phases() == Phases::One {
        return StreamExec::plan(node.with_bundles(bundling), vec![input]);
    }
    let retracting = !mode.is_insert_only();
    let local = LocalGroupAggregateNode::try_new(group, calls, input.schema(), retracting, bundling)?;
    let local = StreamExec::plan(local, vec![input])?;
    StreamExec::plan(node.with_partials(bundling), vec![local])
}

/// Whether aggregates before and after an exchange can be merged, as Flink's can.
pub(super) fn is_mergeable(calls: &[AggregateCall]) -> bool {
    !calls.iter().any(|call| matches!(call.function.name(), "first_value" | "last_value"))
}

/// The sets with their numbers, as DataFusion numbers them: a bit for each column that is NULL, and
/// above these how many times the same set came before.
fn grouping_sets(sets: &[Vec<bool>]) -> Vec<GroupingSet> {
    let number = |(place, nulls): (usize, &Vec<bool>)| {
        let bits = nulls.iter().fold(0, |bits, null| bits << 1 | u64::from(*null));
        let earlier = sets[..place].iter().filter(|set| *set == nulls).count() as u64;
        GroupingSet { nulls: nulls.clone(), id: bits | earlier << nulls.len() }
    };
    let mut sets: Vec<_> = sets.iter().enumerate().map(number).collect();
    // however they are written, Flink takes the larger sets first, and those of the first columns
    sets.sort_by_key(|set| set.id);
    sets
}

/// The input of an aggregation by grouping sets, and its group columns there. The calls are told where
/// their columns are.
pub(super) fn expand(
    input: Arc<dyn ExecutionPlan>,
    group: Vec<usize>,
    sets: Vec<GroupingSet>,
    id: Field,
    calls: &mut [AggregateCall],
) -> Result<(Arc<dyn ExecutionPlan>, Vec<usize>)> {
    let keys: Vec<usize> = (0..=group.len()).collect();
    let mut kept: Vec<usize> = vec![];
    for column in calls.iter_mut().flat_map(|call| call.args.iter_mut().chain(call.filter.as_mut())) {
        let place = kept.iter().position(|kept| kept == column).unwrap_or_else(|| {
            kept.push(*column);
            kept.len() - 1
        });
        *column = keys.len() + place;
    }
    let node = ExpandNode::new(group, sets, id, kept, input.schema());
    Ok((StreamExec::plan(node, vec![input])?, keys))
}

/// The call, told to pass over retractions where updates move its argument only the way it looks.
fn without_needless_retraction(mut call: AggregateCall, input: &Arc<dyn ExecutionPlan>) -> AggregateCall {
    let (Some(stream), [arg]) = (input.downcast_ref::<StreamExec>(), call.args.as_slice()) else {
        return call;
    };
    let traits = stream.traits();
    call.appends_only = call.filter.is_none()
        && match call.function.kind() {
            AggregateKind::Max => traits.monotonicity_of(*arg) == Monotonicity::Increasing,
            AggregateKind::Min => traits.monotonicity_of(*arg) == Monotonicity::Decreasing,
            _ => false,
        };
    call
}

/// The phase of an aggregation that reads rows.
fn first_phase(aggregate: &AggregateExec) -> Result<&AggregateExec> {
    let mut phase = aggregate;
    while phase.mode().input_mode() == AggregateInputMode::Partial {
        let mut input = phase.input();
        while !input.is::<AggregateExec>() {
            let children = input.children();
            let [child] = children.as_slice() else {
                return internal_err!("a final aggregation without a partial one");
            };
            input = child;
        }
        match input.downcast_ref::<AggregateExec>() {
            Some(partial) => phase = partial,
            None => return internal_err!("a final aggregation without a partial one"),
        }
    }
    Ok(phase)
}

/// An aggregate call over the columns of the Calc below the aggregation.
fn plan_call(
    call: &Arc<AggregateFunctionExpr>,
    filter: Option<&Arc<dyn PhysicalExpr>>,
    columns: &mut InputColumns,
) -> Result<AggregateCall> {
    let function = streaming_aggregate_of(call.fun()).unwrap_or_else(|| adapted(call));
    check_call(call, function.kind(), &columns.input)?;
    let display = call.human_display().unwrap_or(call.name()).to_string();
    let args = arguments_read(function.as_ref(), call.expressions());
    let mut arg =
        |(number, arg): (usize, &Arc<dyn PhysicalExpr>)| columns.add(arg, &format!("{display}.{number}"));
    Ok(AggregateCall {
        args: args.iter().enumerate().map(&mut arg).collect::<Result<_>>()?,
        filter: filter.map(|filter| columns.add(filter, &format!("{display}.filter"))).transpose()?,
        // the extremes of distinct values are those of all
        distinct: call.is_distinct() && !function.kind().is_extreme(),
        function,
        ignore_nulls: call.ignore_nulls(),
        appends_only: false,
        return_type: call.field().data_type().clone(),
        display,
    })
}

/// A function of DataFusion's or of a user's.
fn adapted(call: &AggregateFunctionExpr) -> Arc<dyn StreamingAggregate> {
    let constant =
        |arg: &Arc<dyn PhysicalExpr>| arg.downcast_ref::<Literal>().map(|literal| literal.value().clone());
    let constants = call.expressions().iter().map(constant).collect();
    Arc::new(AdaptedAggregate::new(Arc::new(call.fun().clone()), constants))
}

/// Refuses what Flink's functions do not take, and DataFusion's do.
fn check_call(call: &AggregateFunctionExpr, kind: AggregateKind, input: &Schema) -> Result<()> {
    if !call.order_bys().is_empty() {
        return plan_err!("{}: the values of an aggregate over a stream have no ORDER BY", call.name());
    }
    if call.fun().inner().downcast_ref::<FlinkAggregateUdf>().is_none() {
        return Ok(());
    }
    let args = call.expressions();
    if kind == AggregateKind::Count && args.len() > 1 {
        return plan_err!("{}: COUNT takes one column", call.name());
    }
    if kind == AggregateKind::ListAgg && args.get(1).is_some_and(|separator| !separator.is::<Literal>()) {
        return plan_err!("{}: the separator of LISTAGG must be a literal", call.name());
    }
    let nested = args
        .iter()
        .map(|arg| arg.data_type(input))
        .find(|arg| !matches!(arg, Ok(arg) if !matches!(arg, DataType::Struct(_) | DataType::Map(..))));
    match nested.filter(|_| call.is_distinct()).transpose()? {
        Some(data_type) => plan_err!("{}: DISTINCT does not take a {data_type}", call.name()),
        None => Ok(()),
    }
}

/// The columns that an aggregation reads, each once.
struct InputColumns {
    input: SchemaRef,
    expressions: Vec<Arc<dyn PhysicalExpr>>,
    fields: Vec<Field>,
}

impl InputColumns {
    fn new(input: SchemaRef) -> Self {
        InputColumns { input, expressions: vec![], fields: vec![] }
    }

    /// The place of an expression, which is added unless it is there already.
    fn add(&mut self, expression: &Arc<dyn PhysicalExpr>, name: &str) -> Result<usize> {
        if let Some(place) = self.expressions.iter().position(|known| known == expression) {
            return Ok(place);
        }
        let field = expression.return_field(&self.input)?;
        let name = expression.downcast_ref::<Column>().map_or(name, Column::name);
        self.fields.push(field.as_ref().clone().with_name(name));
        self.expressions.push(Arc::clone(expression));
        Ok(self.expressions.len() - 1)
    }

    /// The Calc that makes the columns; none if they are those of the input.
    fn calc(self, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let is_input = |(place, expression): (usize, &Arc<dyn PhysicalExpr>)| {
            expression.downcast_ref::<Column>().is_some_and(|column| column.index() == place)
        };
        let same_width = self.expressions.len() == self.input.fields().len();
        if same_width && self.expressions.iter().enumerate().all(is_input) {
            return Ok(input);
        }
        let schema = Arc::new(Schema::new(self.fields));
        StreamExec::plan(CalcNode::project(self.expressions, schema), vec![input])
    }
}

/// The projection that an aggregation comes to where each group has one row at most: its key is
/// unique, and the aggregates of a single value are that value. Flink does the same, and so its
/// changes pass as they are.
fn needless(
    group: &[usize],
    calls: &[AggregateCall],
    input: &StreamExec,
    schema: &SchemaRef,
) -> Result<Option<CalcNode>> {
    let is_unique =
        input.traits().upsert_keys.iter().any(|key| key.iter().all(|column| group.contains(column)));
    let is_value = |call: &AggregateCall| {
        let kind = call.function.kind();
        (kind == AggregateKind::Sum || kind.is_extreme()) && call.filter.is_none() && !call.distinct
    };
    if group.is_empty() || !is_unique || !calls.iter().all(is_value) {
        return Ok(None);
    }
    let fields = input.schema();
    let value = |(place, column): (usize, usize)| -> Result<Arc<dyn PhysicalExpr>> {
        let value = Arc::new(Column::new(fields.field(column).name(), column));
        cast(value, &fields, schema.field(place).data_type().clone())
    };
    let columns = group.iter().copied().chain(calls.iter().flat_map(|call| call.args.iter().copied()));
    let values = columns.enumerate().map(value).collect::<Result<_>>()?;
    Ok(Some(CalcNode::project(values, Arc::clone(schema))))
}

/// Makes keys of the starts of windows: those of sessions do not follow from their ends.
fn starts_as_keys(by: &mut [GroupColumn], group: &[usize]) {
    for (by, column) in by.iter_mut().zip(group) {
        if *by == GroupColumn::WindowStart {
            *by = GroupColumn::Key(*column);
        }
    }
}

/// What the group columns are to the windows of the input, if both ends of the windows are among
/// them: that makes a window aggregation. Also the column of the window's end.
fn window_group<'a>(
    group: &[usize],
    input: &'a StreamExec,
) -> Option<(Vec<GroupColumn>, &'a WindowProperties, usize)> {
    let window = input.traits().window.as_ref()?;
    let end = *group.iter().find(|column| window.end.contains(column))?;
    group.iter().find(|column| window.start.contains(column))?;
    let role = |column: &usize| {
        if window.start.contains(column) {
            GroupColumn::WindowStart
        } else if window.end.contains(column) {
            GroupColumn::WindowEnd
        } else if window.time.contains(column) {
            GroupColumn::WindowTime
        } else {
            GroupColumn::Key(*column)
        }
    };
    Some((group.iter().map(role).collect(), window, end))
}
