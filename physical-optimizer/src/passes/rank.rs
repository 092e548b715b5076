//! Top-N and deduplication: a filter on the rank of a window function.
//!
//! ```text
//!   ProjectionExec                                Calc  (the projection, what else the filter says)
//!     FilterExec: rn <= N AND …                     Rank or Deduplicate
//!       [ProjectionExec]                 ==>          [Calc  (partition and order expressions)]
//!         BoundedWindowAggExec: ROW_NUMBER()            input
//!           [SortExec]
//!             input
//! ```
//!
//! Fires where the filter bounds the rank from above by a constant or a column; what else is asked of
//! the rank makes it an OVER aggregation.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use datafusion_common::{Result, ScalarValue, plan_err};
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{BinaryExpr, CastExpr, Column, Literal};
use datafusion_physical_expr::utils::{collect_columns, conjunction, split_conjunction};
use datafusion_physical_expr::window::{StandardWindowExpr, WindowExpr};
use datafusion_physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::filter::FilterExec;
use datafusion_physical_plan::projection::ProjectionExec;
use datafusion_physical_plan::windows::{BoundedWindowAggExec, WindowAggExec, WindowUDFExpr};
use datafusion_streaming_physical_plan::expressions::substituted;
use datafusion_streaming_physical_plan::operators::calc::CalcNode;
use datafusion_streaming_physical_plan::operators::deduplicate::{DeduplicateNode, Keep};
use datafusion_streaming_physical_plan::operators::top_n::{RankEnd, RankFunction, RankRange, TopNNode};
use datafusion_streaming_physical_plan::runtime::{StreamExec, StreamTraits};

use super::appended::{Appended, traits_of, with_upsert_key};
use super::over::{BEYOND, several_windows};
use super::sort_limit::without_sort;
use super::{PlanContext, is_streaming};

/// Plans a query that is a Top-N; `None` for any other. `input` makes the plan below streaming.
pub(super) fn plan_rank(
    plan: &Arc<dyn ExecutionPlan>,
    context: &PlanContext,
    input: impl Fn(Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(query) = RankQuery::of(plan)? else { return Ok(None) };
    if !is_streaming(&query.input, context) {
        return Ok(None);
    }
    query.plan(context, input)
}

/// The window functions of a plan, and its input.
pub(super) type WindowFunctions<'a> = (&'a [Arc<dyn WindowExpr>], &'a Arc<dyn ExecutionPlan>);

/// The window functions of a plan, and its input; `None` for any other plan.
pub(super) fn window_functions(plan: &Arc<dyn ExecutionPlan>) -> Option<WindowFunctions<'_>> {
    if let Some(windows) = plan.downcast_ref::<BoundedWindowAggExec>() {
        return Some((windows.window_expr(), windows.input()));
    }
    plan.downcast_ref::<WindowAggExec>().map(|windows| (windows.window_expr(), windows.input()))
}

/// A window function that is no aggregate.
pub(super) fn window_function(call: &Arc<dyn WindowExpr>) -> Option<&WindowUDFExpr> {
    let standard = call.as_any().downcast_ref::<StandardWindowExpr>()?;
    standard.get_standard_func_expr().as_any().downcast_ref()
}

/// A filter on the rank, in terms of the columns of the window function's input and, behind them, the
/// rank.
struct RankQuery {
    /// The window function's name.
    function: String,
    input: Arc<dyn ExecutionPlan>,
    partition: Vec<Arc<dyn PhysicalExpr>>,
    order: Vec<PhysicalSortExpr>,
    range: RankRange,
    /// What else must be true of a row.
    rest: Vec<Arc<dyn PhysicalExpr>>,
    output: Vec<Arc<dyn PhysicalExpr>>,
    /// The schema of the window function's output.
    ranked: SchemaRef,
    schema: SchemaRef,
}

impl RankQuery {
    fn of(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let mut below = plan;
        let projection = plan.downcast_ref::<ProjectionExec>();
        if let Some(projection) = projection {
            below = projection.input();
        }
        let Some(filter) = below.downcast_ref::<FilterExec>() else { return Ok(None) };
        let mut below = filter.input();
        let mut columns = identity(&below.schema());
        while let Some(projection) = below.downcast_ref::<ProjectionExec>() {
            let inner: Vec<_> = projection.expr().iter().map(|it| Arc::clone(&it.expr)).collect();
            columns = columns.into_iter().map(|it| substituted(it, &inner)).collect::<Result<_>>()?;
            below = projection.input();
        }
        let Some(([function], input)) = window_functions(below) else { return Ok(None) };
        let Some(name) = window_function(function).map(|function| function.fun().name().to_string()) else {
            return Ok(None);
        };
        if !["row_number", "rank", "dense_rank"].contains(&name.as_str()) {
            return Ok(None);
        }
        let rank = input.schema().fields().len();
        let predicate = substituted(Arc::clone(filter.predicate()), &columns)?;
        if let Some((inner, below)) = window_functions(&without_sort(input)) {
            let results = below.schema().fields().len()..below.schema().fields().len() + inner.len();
            let reads_result = |it: &Arc<dyn PhysicalExpr>| {
                collect_columns(it).iter().any(|column| results.contains(&column.index()))
            };
            if split_conjunction(&predicate).into_iter().any(reads_result) {
                return several_windows();
            }
        }
        let Some((range, rest)) = rank_range(&predicate, rank)? else { return Ok(None) };
        let is_constant = |sort: &PhysicalSortExpr| collect_columns(&sort.expr).is_empty();
        if function.order_by().iter().all(is_constant) {
            return plan_err!("a Top-N needs an ORDER BY of columns: ROW_NUMBER() OVER (… ORDER BY column)");
        }
        if let Some(kept) = filter.projection() {
            columns = kept.iter().map(|column| Arc::clone(&columns[*column])).collect();
        }
        if let Some(projection) = projection {
            let outer = projection.expr().iter();
            columns = outer.map(|it| substituted(Arc::clone(&it.expr), &columns)).collect::<Result<_>>()?;
        }
        Ok(Some(RankQuery {
            function: name,
            input: without_sort(input),
            partition: function.partition_by().to_vec(),
            order: function.order_by().to_vec(),
            range,
            rest,
            output: columns,
            ranked: below.schema(),
            schema: plan.schema(),
        }))
    }

    fn plan(
        self,
        context: &PlanContext,
        input: impl Fn(Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>>,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let input = input(Arc::clone(&self.input))?;
        let rank = input.schema().fields().len();
        let input = with_upsert_key(input)?;
        let mut columns = Appended::to(&input.schema());
        let keys = columns.places(&self.partition)?;
        let order = columns.sort_places(&self.order)?;
        let input = columns.calc(input)?;
        let traits = traits_of(&input)?;
        if is_over_windows(&keys, traits, context) {
            return Ok(None);
        }
        let function = match self.function.as_str() {
            "row_number" => RankFunction::RowNumber,
            name if !context.options.goes_beyond_flink() => {
                return plan_err!(
                    "Flink has no Top-N by {}(): use ROW_NUMBER(). {BEYOND} there is one, which keeps ties",
                    name.to_uppercase()
                );
            }
            "rank" => RankFunction::Rank,
            _ => RankFunction::DenseRank,
        };

        let rank_field = self.ranked.field(rank).clone();
        let uses_rank =
            |it: &Arc<dyn PhysicalExpr>| collect_columns(it).iter().any(|column| column.index() == rank);
        let width = input.schema().fields().len();
        // where the rank is in the output of the node, or the constant that it is
        let (has_rank, rank_expression): (bool, Arc<dyn PhysicalExpr>) = match self.range.constant() {
            Some(constant) => {
                let constant = ScalarValue::UInt64(Some(constant as u64)).cast_to(rank_field.data_type())?;
                (false, Arc::new(Literal::new(constant)))
            }
            None => (self.output.iter().any(uses_rank), Arc::new(Column::new(rank_field.name(), width))),
        };
        let ttl = context.state_ttl();
        let time = match order.as_slice() {
            [(column, options)] => traits.time_attribute(*column).map(|kind| (*column, kind, *options)),
            _ => None,
        };
        let ranked = match time {
            Some((column, kind, options))
                if traits.mode.is_insert_only()
                    && self.range.constant() == Some(1)
                    && function == RankFunction::RowNumber =>
            {
                let keep = if options.descending { Keep::Last } else { Keep::First };
                let node = DeduplicateNode::new(keys, column, kind, keep, input.schema(), ttl);
                let node = match context.bundling() {
                    Some(bundling) => {
                        node.with_bundling(bundling, context.options.deduplicate_compact_changes)
                    }
                    None => node,
                };
                StreamExec::plan(node, vec![input])?
            }
            _ => {
                let mut fields: Vec<_> = input.schema().fields().iter().cloned().collect();
                if has_rank {
                    fields.push(Arc::new(rank_field));
                }
                let schema = Arc::new(Schema::new(fields));
                let node = TopNNode::new("Rank", keys, order, self.range, input.schema(), schema, ttl)
                    .with_function(function)
                    .with_strategy_for(traits);
                StreamExec::plan(node, vec![input])?
            }
        };

        let mut places = identity(&self.ranked);
        places[rank] = rank_expression;
        let output = self.output.into_iter().map(|it| substituted(it, &places));
        let output = output.collect::<Result<Vec<_>>>()?;
        let node = match self.rest.is_empty() {
            true => CalcNode::project(output, self.schema),
            false => CalcNode::filter_project(conjunction(self.rest), output, self.schema),
        };
        StreamExec::plan(node, vec![ranked]).map(Some)
    }
}

/// Whether the partition is that of the windows of the input: a window Top-N, which is another operator.
/// Windows that late rows update are ranked as any changing table.
pub(super) fn is_over_windows(keys: &[usize], traits: &StreamTraits, context: &PlanContext) -> bool {
    let are_updated = !traits.mode.is_insert_only() && context.options.window_lateness() > 0;
    !are_updated
        && traits.window.as_ref().is_some_and(|window| {
            let has = |places: &[usize]| keys.iter().any(|key| places.contains(key));
            window.rowtime && has(&window.start) && has(&window.end)
        })
}

/// The columns of a schema.
fn identity(schema: &SchemaRef) -> Vec<Arc<dyn PhysicalExpr>> {
    let fields = schema.fields().iter().enumerate();
    fields.map(|(place, field)| Arc::new(Column::new(field.name(), place)) as Arc<dyn PhysicalExpr>).collect()
}

/// What else a predicate says.
type Conjuncts = Vec<Arc<dyn PhysicalExpr>>;

/// The ranks that a predicate lets through and what else it says; `None` where it does not speak of the
/// rank, or says of it what is no range.
fn rank_range(predicate: &Arc<dyn PhysicalExpr>, rank: usize) -> Result<Option<(RankRange, Conjuncts)>> {
    let (mut start, mut end, mut column, mut rest) = (1, None::<i128>, None, vec![]);
    let mut has_bound = false;
    for conjunct in split_conjunction(predicate) {
        if !collect_columns(conjunct).iter().any(|column| column.index() == rank) {
            rest.push(Arc::clone(conjunct));
            continue;
        }
        let Some((operator, bound)) = comparison(conjunct, rank) else { return Ok(None) };
        has_bound = true;
        let below = end.unwrap_or(i128::MAX);
        match (bound, operator) {
            (Bound::Constant(bound), Operator::LtEq) => end = Some(below.min(bound)),
            (Bound::Constant(bound), Operator::Lt) => end = Some(below.min(bound - 1)),
            (Bound::Constant(bound), Operator::GtEq) => start = start.max(bound),
            (Bound::Constant(bound), Operator::Gt) => start = start.max(bound + 1),
            (Bound::Constant(bound), Operator::Eq) => {
                start = start.max(bound);
                end = Some(below.min(bound));
            }
            (Bound::Column(bound), Operator::LtEq) if column.is_none() => column = Some(bound),
            _ => return Ok(None),
        }
    }
    if !has_bound {
        return Ok(None);
    }
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    let end = match (end, column) {
        (None, None) => {
            return plan_err!(
                "a Top-N needs an upper bound of the rank, such as rn <= 10: without one every row would be kept"
            );
        }
        (Some(end), _) if end < 1 => {
            return plan_err!(
                "no row has the rank {end}: ranks are counted from 1, so ask for rn <= 1 at least"
            );
        }
        (Some(end), None) => RankEnd::Constant(usize::try_from(end).unwrap_or(usize::MAX)),
        (None, Some(column)) => RankEnd::Column(column),
        (Some(_), Some(_)) => {
            return plan_err!(
                "the rank of a Top-N is bounded by a constant and by a column: use one of them"
            );
        }
    };
    Ok(Some((RankRange { start, end }, rest)))
}

enum Bound {
    Constant(i128),
    Column(usize),
}

/// The comparison that a conjunct is, with the rank on its left.
fn comparison(conjunct: &Arc<dyn PhysicalExpr>, rank: usize) -> Option<(Operator, Bound)> {
    let binary = conjunct.downcast_ref::<BinaryExpr>()?;
    let is_rank = |side| without_casts(side).downcast_ref::<Column>().is_some_and(|it| it.index() == rank);
    let (operator, other) = match (is_rank(binary.left()), is_rank(binary.right())) {
        (true, false) => (*binary.op(), binary.right()),
        (false, true) => (binary.op().swap()?, binary.left()),
        _ => return None,
    };
    let other = without_casts(other);
    if let Some(column) = other.downcast_ref::<Column>() {
        return Some((operator, Bound::Column(column.index())));
    }
    let value = other.downcast_ref::<Literal>()?.value();
    let whole = |value: &ScalarValue| match value {
        ScalarValue::Decimal128(Some(value), _, scale) => {
            let unit = 10i128.checked_pow(u32::try_from(*scale).ok()?)?;
            (value % unit == 0).then_some(value / unit)
        }
        value => match value.cast_to(&arrow::datatypes::DataType::Int64).ok()? {
            ScalarValue::Int64(value) => value.map(i128::from),
            _ => None,
        },
    };
    Some((operator, Bound::Constant(whole(value)?)))
}

fn without_casts(expression: &Arc<dyn PhysicalExpr>) -> &Arc<dyn PhysicalExpr> {
    match expression.downcast_ref::<CastExpr>() {
        Some(cast) => without_casts(cast.expr()),
        None => expression,
    }
}
