//! Window Top-N and window deduplication: a filter on ROW_NUMBER() over window_start and window_end.

use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion_common::{Result, ScalarValue, plan_err};
use datafusion_expr::Operator;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{BinaryExpr, CastExpr, Column, Literal};
use datafusion_physical_expr::utils::{collect_columns, conjunction, split_conjunction};
use datafusion_physical_expr::window::{StandardWindowExpr, WindowExpr};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::filter::FilterExec;
use datafusion_physical_plan::projection::ProjectionExec;
use datafusion_physical_plan::windows::{BoundedWindowAggExec, WindowAggExec, WindowUDFExpr};
use datafusion_streaming_physical_plan::operators::calc::CalcNode;
use datafusion_streaming_physical_plan::operators::window_rank::{WindowColumns, WindowRankNode};
use datafusion_streaming_physical_plan::runtime::StreamExec;
use datafusion_streaming_physical_plan::time::LocalZone;

use super::rank::is_over_windows;
use super::recognise::recognise;
use super::{PlanContext, is_streaming};

/// Plans `… WHERE rn <= N` over `ROW_NUMBER() OVER (PARTITION BY window_start, window_end, … ORDER BY …)
/// AS rn`, where the two are the window's columns. `None` for any other plan.
pub(super) fn plan_window_rank(
    plan: &Arc<dyn ExecutionPlan>,
    context: &PlanContext,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(filter) = plan.downcast_ref::<FilterExec>() else { return Ok(None) };
    let projection = filter.input().downcast_ref::<ProjectionExec>();
    let ranked_by = projection.map_or(filter.input(), ProjectionExec::input);
    let Some((function, input)) = ranking(ranked_by) else { return Ok(None) };
    if !is_streaming(input, context) {
        return Ok(None);
    }
    let name = function_name(function);
    if !["row_number", "rank", "dense_rank"].contains(&name) {
        return Ok(None);
    }
    let input = recognise(Arc::clone(input), context)?;
    let width = input.schema().fields().len();
    let mut columns = Columns::over(&input);
    let partition: Vec<usize> =
        function.partition_by().iter().map(|expression| columns.place(expression)).collect::<Result<_>>()?;
    let order = function.order_by().iter();
    let order: Vec<(usize, SortOptions)> =
        order.map(|sort| Ok((columns.place(&sort.expr)?, sort.options))).collect::<Result<_>>()?;
    let input = columns.calc(input)?;
    let Some(stream) = input.downcast_ref::<StreamExec>() else { return Ok(None) };
    let traits = stream.traits();
    let Some(window) = traits.window.as_ref() else { return Ok(None) };
    if window.rowtime && !is_over_windows(&partition, traits, context) {
        return Ok(None);
    }
    let of_window = |columns: &[usize]| partition.iter().copied().find(|column| columns.contains(column));
    let (Some(start), Some(end)) = (of_window(&window.start), of_window(&window.end)) else {
        return Ok(None);
    };
    if !window.rowtime {
        return plan_err!(
            "ROW_NUMBER over window_start and window_end needs windows over event time: use a column with a \
             watermark in {}",
            window.assigner
        );
    }
    if name != "row_number" {
        return plan_err!(
            "{} over window_start and window_end has no streaming form: use ROW_NUMBER()",
            name.to_uppercase()
        );
    }

    let Some(rank) = place_of(width, projection) else { return Ok(None) };
    let (ranks, rest) = rank_bounds(filter.predicate(), rank)?;
    let is_window = |column: &usize| {
        [&window.start, &window.end, &window.time].iter().any(|places| places.contains(column))
    };
    let keys = partition.iter().copied().filter(|column| !is_window(column)).collect();
    let by_time = matches!(order.as_slice(), [(column, options)]
        if options.descending && traits.time_attribute(*column).is_some());
    let zone = if window.local_time { context.zone } else { LocalZone::UTC };
    let columns = WindowColumns { start, end, zone };
    let rank = ranked_by.schema().field(width).clone();
    let fields = input.schema().fields().iter().cloned().chain([Arc::new(rank)]).collect::<Vec<_>>();
    let schema = Arc::new(Schema::new(fields));
    let keep_last = by_time && ranks == (1, 1);
    let extra = input.schema().fields().len() - width;
    let node = WindowRankNode::new(columns, keys, order, ranks, keep_last, input.schema(), schema)
        .with_allowed_lateness(context.options.window_lateness());
    let ranked = StreamExec::plan(node, vec![input])?;

    // what the window function gave, its input and the rank, and then what was selected of it
    let mut ranked = match extra {
        0 => ranked,
        extra => {
            let kept: Vec<usize> = (0..width).chain([width + extra]).collect();
            StreamExec::plan(CalcNode::columns(&kept, &ranked.schema())?, vec![ranked])?
        }
    };
    if let Some(projection) = projection {
        let expressions = projection.expr().iter().map(|projected| Arc::clone(&projected.expr)).collect();
        ranked = StreamExec::plan(CalcNode::project(expressions, projection.schema()), vec![ranked])?;
    }
    let rest = (!rest.is_empty()).then(|| conjunction(rest));
    let schema = ranked.schema();
    let column = |column: &usize| {
        Arc::new(Column::new(schema.field(*column).name(), *column)) as Arc<dyn PhysicalExpr>
    };
    let projection =
        filter.projection().as_ref().map(|columns| columns.iter().map(column).collect::<Vec<_>>());
    if rest.is_none() && projection.is_none() {
        return Ok(Some(ranked));
    }
    let calc = CalcNode::from_parts(rest, projection, plan.schema());
    StreamExec::plan(calc, vec![ranked]).map(Some)
}

/// The place of the rank, which is the column `rank`, behind a projection. `None` if it has none there, or several.
fn place_of(rank: usize, projection: Option<&ProjectionExec>) -> Option<usize> {
    let Some(projection) = projection else { return Some(rank) };
    let mut places = (0..).zip(projection.expr()).filter(|(_, projected)| is_rank(&projected.expr, rank));
    let (place, _) = places.next()?;
    places.next().is_none().then_some(place)
}

/// A window function and the plan whose rows it reads.
type FunctionAndInput<'a> = (&'a Arc<dyn WindowExpr>, &'a Arc<dyn ExecutionPlan>);

/// The only window function of a plan, and that plan's input.
fn ranking(plan: &Arc<dyn ExecutionPlan>) -> Option<FunctionAndInput<'_>> {
    let (functions, input) = if let Some(windows) = plan.downcast_ref::<BoundedWindowAggExec>() {
        (windows.window_expr(), windows.input())
    } else {
        let windows = plan.downcast_ref::<WindowAggExec>()?;
        (windows.window_expr(), windows.input())
    };
    match functions {
        [function] => Some((function, input)),
        _ => None,
    }
}

fn function_name(function: &Arc<dyn WindowExpr>) -> &str {
    let standard = function.as_any().downcast_ref::<StandardWindowExpr>();
    let udf = standard.and_then(|it| it.get_standard_func_expr().as_any().downcast_ref::<WindowUDFExpr>());
    udf.map_or("", |udf| udf.fun().name())
}

/// Conjuncts of a filter that say nothing of the rank.
type Rest = Vec<Arc<dyn PhysicalExpr>>;

/// The first and the last rank that a filter lets through, the rank being the column `rank`.
fn rank_bounds(predicate: &Arc<dyn PhysicalExpr>, rank: usize) -> Result<((u64, u64), Rest)> {
    let (mut first, mut last, mut rest) = (1, None::<u64>, vec![]);
    for conjunct in split_conjunction(predicate) {
        let Some((operator, bound)) = rank_comparison(conjunct, rank) else {
            if collect_columns(conjunct).iter().any(|column| column.index() == rank) {
                return plan_err!(
                    "the rank of rows in a window must be compared with constants, such as rn <= 3, not {conjunct}"
                );
            }
            rest.push(Arc::clone(conjunct));
            continue;
        };
        let below = last.unwrap_or(u64::MAX);
        match operator {
            Operator::LtEq => last = Some(below.min(clamp(bound))),
            Operator::Lt => last = Some(below.min(clamp(bound - 1))),
            Operator::Gt => first = first.max(clamp(bound + 1)),
            Operator::GtEq => first = first.max(clamp(bound)),
            _ => {
                first = first.max(clamp(bound));
                last = Some(below.min(clamp(bound)));
            }
        }
    }
    match last {
        None => plan_err!("the rank of rows in a window needs an upper bound, such as rn <= 3"),
        Some(0) => plan_err!("no row of a window has the rank 0 or less; ranks are counted from 1"),
        Some(last) => Ok(((first, last), rest)),
    }
}

fn clamp(bound: i128) -> u64 {
    u64::try_from(bound.max(0)).unwrap_or(u64::MAX)
}

/// The comparison of the rank with a constant that an expression is, the rank on the left.
fn rank_comparison(expression: &Arc<dyn PhysicalExpr>, rank: usize) -> Option<(Operator, i128)> {
    let comparison = expression.downcast_ref::<BinaryExpr>()?;
    let operator = *comparison.op();
    let (operator, constant) = if is_rank(comparison.left(), rank) {
        (operator, comparison.right())
    } else if is_rank(comparison.right(), rank) {
        (operator.swap()?, comparison.left())
    } else {
        return None;
    };
    let comparisons = [Operator::Lt, Operator::LtEq, Operator::Eq, Operator::Gt, Operator::GtEq];
    let constant = constant.downcast_ref::<Literal>()?.value();
    comparisons.contains(&operator).then_some((operator, integer(constant)?))
}

fn is_rank(expression: &Arc<dyn PhysicalExpr>, rank: usize) -> bool {
    match expression.downcast_ref::<CastExpr>() {
        Some(cast) => is_rank(cast.expr(), rank),
        None => expression.downcast_ref::<Column>().is_some_and(|column| column.index() == rank),
    }
}

fn integer(value: &ScalarValue) -> Option<i128> {
    match value.cast_to(&DataType::Decimal128(38, 0)).ok()? {
        ScalarValue::Decimal128(value, _, _) => value,
        _ => None,
    }
}

/// The columns of a plan, and others computed of them.
struct Columns {
    width: usize,
    expressions: Vec<Arc<dyn PhysicalExpr>>,
    fields: Vec<Arc<Field>>,
}

impl Columns {
    fn over(plan: &Arc<dyn ExecutionPlan>) -> Self {
        let schema = plan.schema();
        let column = |(place, field): (usize, &Arc<Field>)| {
            Arc::new(Column::new(field.name(), place)) as Arc<dyn PhysicalExpr>
        };
        Columns {
            width: schema.fields().len(),
            expressions: schema.fields().iter().enumerate().map(column).collect(),
            fields: schema.fields().iter().cloned().collect(),
        }
    }

    /// The place of an expression, which is added unless it is a column.
    fn place(&mut self, expression: &Arc<dyn PhysicalExpr>) -> Result<usize> {
        if let Some(column) = expression.downcast_ref::<Column>() {
            return Ok(column.index());
        }
        let input = Schema::new(self.fields[..self.width].to_vec());
        let field = expression.return_field(&input)?.as_ref().clone();
        self.fields.push(Arc::new(field.with_name(format!("$rank_by{}", self.fields.len()))));
        self.expressions.push(Arc::clone(expression));
        Ok(self.expressions.len() - 1)
    }

    fn calc(self, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        if self.expressions.len() == self.width {
            return Ok(input);
        }
        let schema = Arc::new(Schema::new(self.fields));
        StreamExec::plan(CalcNode::project(self.expressions, schema), vec![input])
    }
}
