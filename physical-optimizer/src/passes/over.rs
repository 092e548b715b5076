//! OVER aggregations: window functions whose result is not only compared with a bound.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion_common::{Result, ScalarValue, internal_err, plan_err};
use datafusion_expr::{WindowFrame, WindowFrameBound, WindowFrameUnits};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::aggregate::AggregateFunctionExpr;
use datafusion_physical_expr::expressions::{CastExpr, Literal};
use datafusion_physical_expr::window::{PlainAggregateWindowExpr, SlidingAggregateWindowExpr, WindowExpr};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::windows::WindowUDFExpr;
use datafusion_streaming_physical_plan::operators::aggregate::AggregateCall;
use datafusion_streaming_physical_plan::operators::over::{OverCall, OverFrame, OverNode, ValueOverNode};
use datafusion_streaming_physical_plan::runtime::StreamExec;
use datafusion_streaming_udfs::aggregate::{flink_aggregates, streaming_aggregate_of};

use super::PlanContext;
use super::appended::{Appended, traits_of, with_upsert_key};
use super::rank::{window_function, window_functions};
use super::sort_limit::without_sort;

/// Plans window functions; `None` for any other plan. `input` makes the plan below streaming.
pub(super) fn plan_over(
    plan: &Arc<dyn ExecutionPlan>,
    context: &PlanContext,
    input: impl Fn(Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some((functions, below)) = window_functions(plan) else { return Ok(None) };
    let below = without_sort(below);
    if window_functions(&below).is_some() {
        return several_windows();
    }
    let Some(first) = functions.first() else { return internal_err!("a window without functions") };
    let sort = match first.order_by() {
        [sort] => sort,
        [] => {
            return plan_err!(
                "{} needs an ORDER BY in its OVER clause: a stream has no order of its own",
                first.name()
            );
        }
        _ => {
            return plan_err!(
                "{} is ordered by several columns: OVER takes one, a time attribute or another",
                first.name()
            );
        }
    };
    if sort.options.descending {
        return plan_err!(
            "{} is ordered by {} DESC: OVER takes ascending order only; the first rows in descending order are a \
             Top-N, WHERE rn <= N",
            first.name(),
            sort.expr
        );
    }
    let frame = frame_of(first)?;
    for function in functions {
        if frame_of(function)? != frame {
            return several_windows();
        }
    }

    let input = with_upsert_key(input(below)?)?;
    let mut columns = Appended::to(&input.schema());
    let keys = columns.places(first.partition_by())?;
    let time = columns.place(&sort.expr)?;
    let calls =
        functions.iter().map(|function| plan_call(function, &mut columns)).collect::<Result<Vec<_>>>()?;
    let input = columns.calc(input)?;
    let traits = traits_of(&input)?;
    let schema = plan.schema();
    let Some(kind) = traits.time_attribute(time) else {
        if frame.is_bounded() {
            return plan_err!(
                "{} has a bounded frame and is ordered by {}, which is no time attribute: order by one (WATERMARK FOR \
                 a column of its table, passed on as it is), or use an unbounded frame",
                first.name(),
                sort.expr
            );
        }
        let (sort, has_peers) = ((time, sort.options), frame.has_peers());
        let node = ValueOverNode::new(keys, sort, has_peers, calls, input.schema(), schema, traits);
        return StreamExec::plan(node.with_ttl(context.state_ttl()), vec![input]).map(Some);
    };
    let node = OverNode::new(keys, (time, kind), frame, calls, input.schema(), schema, context.state_ttl());
    StreamExec::plan(node, vec![input]).map(Some)
}

pub(super) fn several_windows<T>() -> Result<T> {
    plan_err!(
        "the OVER clauses of a SELECT must be the same window (PARTITION BY, ORDER BY and frame; ROW_NUMBER counts \
         in ROWS, RANK, DENSE_RANK and LAG in RANGE): compute one window in a sub-query and the next one over it"
    )
}

/// The frame of a window function. That of the ranking functions and of LAG is Flink's, whatever is
/// written.
fn frame_of(function: &Arc<dyn WindowExpr>) -> Result<OverFrame> {
    match window_function(function).map(|function| function.fun().name()) {
        Some("row_number") => return Ok(OverFrame::UnboundedRows),
        Some("rank" | "dense_rank" | "lag") => return Ok(OverFrame::UnboundedRange),
        _ => {}
    }
    let frame: &WindowFrame = function.get_window_frame();
    if frame.end_bound != WindowFrameBound::CurrentRow {
        return plan_err!(
            "the frame of {} does not end at the current row: frames are … BETWEEN x PRECEDING AND CURRENT ROW",
            function.name()
        );
    }
    let WindowFrameBound::Preceding(start) = &frame.start_bound else {
        return plan_err!(
            "the frame of {} starts at the current row: use ROWS 0 PRECEDING, or RANGE INTERVAL '0' SECOND PRECEDING",
            function.name()
        );
    };
    match (frame.units, start.is_null()) {
        (WindowFrameUnits::Rows, true) => Ok(OverFrame::UnboundedRows),
        (WindowFrameUnits::Range, true) => Ok(OverFrame::UnboundedRange),
        (WindowFrameUnits::Rows, false) => match start.cast_to(&DataType::UInt64)? {
            ScalarValue::UInt64(Some(rows)) => Ok(OverFrame::Rows(rows as usize)),
            other => plan_err!("the frame of {} starts {other} rows before the current one", function.name()),
        },
        (WindowFrameUnits::Range, false) => match millis_of_interval(start) {
            Some(millis) => Ok(OverFrame::Range(millis)),
            None => plan_err!(
                "the frame of {} is a RANGE of {start}: over a time it is an interval of days or less, such as \
                 RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW",
                function.name()
            ),
        },
        (WindowFrameUnits::Groups, _) => plan_err!(
            "the frame of {} is in GROUPS, which has no streaming form: use ROWS or RANGE",
            function.name()
        ),
    }
}

fn millis_of_interval(interval: &ScalarValue) -> Option<i64> {
    match interval {
        ScalarValue::IntervalMonthDayNano(Some(it)) if it.months == 0 => {
            Some(i64::from(it.days) * 86_400_000 + it.nanoseconds / 1_000_000)
        }
        ScalarValue::IntervalDayTime(Some(it)) => {
            Some(i64::from(it.days) * 86_400_000 + i64::from(it.milliseconds))
        }
        ScalarValue::DurationMillisecond(Some(millis)) => Some(*millis),
        _ => None,
    }
}

fn plan_call(function: &Arc<dyn WindowExpr>, columns: &mut Appended) -> Result<OverCall> {
    if let Some(udf) = window_function(function) {
        return plan_window_function(udf, function, columns);
    }
    let any = function.as_any();
    let plain = any.downcast_ref::<PlainAggregateWindowExpr>().map(|it| it.get_aggregate_expr());
    let sliding = any.downcast_ref::<SlidingAggregateWindowExpr>().map(|it| it.get_aggregate_expr());
    let Some(call) = plain.or(sliding) else {
        return plan_err!("{} has no streaming form", function.name());
    };
    if has_filter(function) {
        return plan_err!(
            "{} has a FILTER, which OVER does not take: use CASE WHEN … THEN … END",
            call.name()
        );
    }
    plan_aggregate(call, columns).map(OverCall::Aggregate)
}

/// Whether an aggregate has a FILTER clause. DataFusion has no accessor for it, but shows it.
fn has_filter(function: &Arc<dyn WindowExpr>) -> bool {
    format!("{function:?}").contains("filter: Some(")
}

fn plan_aggregate(call: &AggregateFunctionExpr, columns: &mut Appended) -> Result<AggregateCall> {
    let Some(streaming) = streaming_aggregate_of(call.fun()) else {
        return plan_err!("the aggregate function {} has no streaming form", call.fun().name());
    };
    let mut args = call.expressions();
    let is_literal = |arg: &Arc<dyn PhysicalExpr>| {
        arg.downcast_ref::<Literal>().is_some_and(|literal| !literal.value().is_null())
    };
    if streaming.name() == "count" && args.iter().all(is_literal) {
        // COUNT(*) comes as the count of a literal
        args.clear();
    }
    Ok(AggregateCall {
        args: columns.places(&args)?,
        filter: None,
        // the extremes of distinct values are those of all
        distinct: call.is_distinct() && !matches!(streaming.name(), "min" | "max"),
        function: streaming,
        ignore_nulls: call.ignore_nulls(),
        appends_only: false,
        return_type: call.field().data_type().clone(),
        display: call.human_display().unwrap_or(call.name()).to_string(),
    })
}

fn plan_window_function(
    udf: &WindowUDFExpr,
    function: &Arc<dyn WindowExpr>,
    columns: &mut Appended,
) -> Result<OverCall> {
    let name = udf.fun().name();
    match name {
        "row_number" => Ok(OverCall::RowNumber),
        "rank" => Ok(OverCall::Rank),
        "dense_rank" => Ok(OverCall::DenseRank),
        "lag" => {
            let [value, rest @ ..] = udf.args() else {
                return plan_err!("LAG needs a value");
            };
            let offset = match rest.first().map(constant) {
                None => 1,
                Some(offset) => match offset?.cast_to(&DataType::Int64)? {
                    ScalarValue::Int64(Some(offset)) if offset >= 0 => offset as usize,
                    other => return plan_err!("LAG looks back a number of rows, not {other}"),
                },
            };
            let default = rest.get(1).map(constant).transpose()?;
            let value_type = function.field()?.data_type().clone();
            if let Some(default) = &default
                && !default.is_null()
                && default.data_type() != value_type
            {
                return plan_err!(
                    "the default of LAG is a {}, its value a {value_type}: cast the default",
                    default.data_type()
                );
            }
            Ok(OverCall::Lag { column: columns.place(value)?, offset, default })
        }
        "first_value" | "last_value" => {
            let udaf = flink_aggregates().into_iter().find(|aggregate| aggregate.name() == name);
            let Some(streaming) = udaf.as_deref().and_then(streaming_aggregate_of) else {
                return plan_err!("{name} over a window has no streaming form");
            };
            Ok(OverCall::Aggregate(AggregateCall {
                args: columns.places(udf.args())?,
                filter: None,
                function: streaming,
                distinct: false,
                ignore_nulls: false,
                appends_only: false,
                return_type: function.field()?.data_type().clone(),
                display: function.name().to_string(),
            }))
        }
        "lead" => plan_err!(
            "LEAD has no streaming form, since it waits for rows to come: use LAG and read the pairs the other way \
             round"
        ),
        _ => plan_err!(
            "{}() over a stream has no streaming form: it needs to know all rows of its partition",
            name.to_uppercase()
        ),
    }
}

/// The value of a literal, casts of it included.
fn constant(expression: &Arc<dyn PhysicalExpr>) -> Result<ScalarValue> {
    if let Some(literal) = expression.downcast_ref::<Literal>() {
        return Ok(literal.value().clone());
    }
    if let Some(cast) = expression.downcast_ref::<CastExpr>() {
        return constant(cast.expr())?.cast_to(cast.cast_type());
    }
    plan_err!("{expression} is not a constant")
}
