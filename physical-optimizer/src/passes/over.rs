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
use datafusion_streaming_physical_plan::operators::aggregate::{AggregateCall, arguments_read};
use datafusion_streaming_physical_plan::operators::over::{
    FrameUnits, OverCall, OverFrame, OverNode, ValueOverNode,
};
use datafusion_streaming_physical_plan::runtime::{StreamExec, TimeAttributeKind};
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
    let frame = common_frame(functions)?;

    let input = with_upsert_key(input(below)?)?;
    let mut columns = Appended::to(&input.schema());
    let keys = columns.places(first.partition_by())?;
    let time = columns.place(&sort.expr)?;
    let calls =
        functions.iter().map(|function| plan_call(function, &mut columns)).collect::<Result<Vec<_>>>()?;
    let input = columns.calc(input)?;
    let traits = traits_of(&input)?;
    let schema = plan.schema();
    let kind = traits.time_attribute(time);
    let is_lead = |call: &OverCall| matches!(call, OverCall::Lead { .. });
    if matches!(frame, OverFrame::Between { .. }) || calls.iter().any(is_lead) {
        if !context.options.goes_beyond_flink() {
            return plan_err!(
                "{} is over rows that Flink's OVER does not look at: its frames end at the current row, and start at \
                 UNBOUNDED PRECEDING, n PRECEDING (ROWS 0 PRECEDING for the row alone) or an INTERVAL PRECEDING. {BEYOND} \
                 it is answered as soon as the watermark has passed the rows of the frame",
                first.name()
            );
        }
        if kind != Some(TimeAttributeKind::Rowtime) {
            return plan_err!(
                "{} is over rows that may still come, and is ordered by {}, which is no rowtime: without a watermark \
                 nothing says when they are there. Order by a rowtime (WATERMARK FOR a column of its table, passed on \
                 as it is), or let the frame start at UNBOUNDED PRECEDING and end at CURRENT ROW",
                first.name(),
                sort.expr
            );
        }
    }
    let Some(kind) = kind else {
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

/// How what Flink refuses is asked for.
pub(super) const BEYOND: &str = "With SET 'streaming.beyond_flink' = 'true'";

pub(super) fn several_windows<T>() -> Result<T> {
    plan_err!(
        "the OVER clauses of a SELECT must be the same window (PARTITION BY, ORDER BY and frame; ROW_NUMBER counts \
         in ROWS, RANK, DENSE_RANK and LAG in RANGE): compute one window in a sub-query and the next one over it"
    )
}

/// The frame of window functions that are computed together.
fn common_frame(functions: &[Arc<dyn WindowExpr>]) -> Result<OverFrame> {
    let mut frames = functions.iter().map(frame_of).collect::<Result<Vec<_>>>()?;
    // beside frames that Flink does not have, the functions without one of their own have any
    let is_ours = |frame: &Frame| matches!(frame, Frame::Any | Frame::Written(OverFrame::Between { .. }));
    if frames.iter().any(is_ours) {
        frames.retain(|frame| matches!(frame, Frame::Written(_)));
    }
    let mut frames = frames.into_iter().map(|frame| match frame {
        Frame::Written(frame) | Frame::Implied(frame) => frame,
        Frame::Any => OverFrame::UnboundedRange,
    });
    let first = frames.next().unwrap_or(OverFrame::UnboundedRange);
    match frames.all(|frame| frame == first) {
        true => Ok(first),
        false => several_windows(),
    }
}

/// The frame of a window function.
enum Frame {
    /// That of its OVER clause.
    Written(OverFrame),
    /// That of Flink's ranking functions and of its LAG, whatever is written.
    Implied(OverFrame),
    /// LEAD has none.
    Any,
}

fn frame_of(function: &Arc<dyn WindowExpr>) -> Result<Frame> {
    match window_function(function).map(|function| function.fun().name()) {
        Some("row_number") => return Ok(Frame::Implied(OverFrame::UnboundedRows)),
        Some("rank" | "dense_rank" | "lag") => return Ok(Frame::Implied(OverFrame::UnboundedRange)),
        Some("lead") => return Ok(Frame::Any),
        _ => {}
    }
    let frame: &WindowFrame = function.get_window_frame();
    let units = match frame.units {
        WindowFrameUnits::Rows => FrameUnits::Rows,
        WindowFrameUnits::Range => FrameUnits::Range,
        WindowFrameUnits::Groups => {
            return plan_err!(
                "the frame of {} is in GROUPS, which has no streaming form: use ROWS or RANGE",
                function.name()
            );
        }
    };
    let starts_at_row = frame.start_bound == WindowFrameBound::CurrentRow;
    let start = frame_bound(function, units, &frame.start_bound)?;
    let Some(end) = frame_bound(function, units, &frame.end_bound)? else {
        return plan_err!(
            "the frame of {} ends with the last row, which a stream does not have: let it end at CURRENT ROW, or a \
             number of rows or an interval FOLLOWING, such as ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING",
            function.name()
        );
    };
    Ok(Frame::Written(match (units, start, end) {
        (FrameUnits::Rows, None, 0) => OverFrame::UnboundedRows,
        (FrameUnits::Range, None, 0) => OverFrame::UnboundedRange,
        // which Flink does not take
        (_, Some(0), 0) if starts_at_row => OverFrame::Between { units, start, end },
        (FrameUnits::Rows, Some(start @ ..=0), 0) => {
            OverFrame::Rows(usize::try_from(start.unsigned_abs()).unwrap_or(usize::MAX))
        }
        (FrameUnits::Range, Some(start @ ..=0), 0) => OverFrame::Range(-start),
        (_, start, end) => OverFrame::Between { units, start, end },
    }))
}

/// An end of a frame, counted from the row: in rows or in milliseconds, less than 0 before it. `None`: unbounded.
fn frame_bound(
    function: &Arc<dyn WindowExpr>,
    units: FrameUnits,
    bound: &WindowFrameBound,
) -> Result<Option<i64>> {
    let (value, sign) = match bound {
        WindowFrameBound::CurrentRow => return Ok(Some(0)),
        WindowFrameBound::Preceding(value) => (value, -1),
        WindowFrameBound::Following(value) => (value, 1),
    };
    if value.is_null() {
        return Ok(None);
    }
    let count = match units {
        FrameUnits::Rows => match value.cast_to(&DataType::Int64)? {
            ScalarValue::Int64(count) => count.filter(|count| *count >= 0),
            _ => None,
        },
        FrameUnits::Range => millis_of_interval(value).filter(|millis| *millis >= 0),
    };
    match (count, units) {
        (Some(count), _) => Ok(Some(sign * count)),
        (None, FrameUnits::Rows) => {
            plan_err!("the frame of {} has an end {value} rows from the current one", function.name())
        }
        (None, FrameUnits::Range) => plan_err!(
            "the frame of {} is a RANGE of {value}: over a time it is an interval of days or less, such as \
             RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW",
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
    let args = arguments_read(streaming.as_ref(), call.expressions());
    Ok(AggregateCall {
        args: columns.places(&args)?,
        filter: None,
        // the extremes of distinct values are those of all
        distinct: call.is_distinct() && !streaming.kind().is_extreme(),
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
        "lag" | "lead" => {
            let shown = name.to_uppercase();
            // which DataFusion tells in no other way
            if format!("{udf:?}").contains("ignore_nulls: true") {
                return plan_err!(
                    "{shown} with IGNORE NULLS has no streaming form: filter the NULLs out before"
                );
            }
            let [value, rest @ ..] = udf.args() else {
                return plan_err!("{shown} needs a value");
            };
            let offset = match rest.first().map(constant) {
                None => 1,
                Some(offset) => match offset?.cast_to(&DataType::Int64)? {
                    ScalarValue::Int64(Some(offset)) if offset >= 0 => offset as usize,
                    other => return plan_err!("{shown} looks so many rows away, not {other}"),
                },
            };
            let default = rest.get(1).map(constant).transpose()?;
            let value_type = function.field()?.data_type().clone();
            if let Some(default) = &default
                && !default.is_null()
                && default.data_type() != value_type
            {
                return plan_err!(
                    "the default of {shown} is a {}, its value a {value_type}: cast the default",
                    default.data_type()
                );
            }
            let column = columns.place(value)?;
            Ok(match name {
                "lag" => OverCall::Lag { column, offset, default },
                _ => OverCall::Lead { column, offset, default },
            })
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
