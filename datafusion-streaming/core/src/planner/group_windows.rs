//! Windows in GROUP BY: `GROUP BY k, TUMBLE(ts, size)` becomes an aggregation over a window table function.
//!
//! To DataFusion's planner the window is a scalar function that is grouped by, and `TUMBLE_START(ts, size)` is a
//! function of it ([`crate::sql::rewrite`]). [`plan_group_windows`] turns the plan that comes of it
//!
//! ```text
//! Projection: k, flink_window_start(tumble(ts, size)), count(*)
//!   Aggregate: groupBy=[k, tumble(ts, size)], aggr=[count(*)]
//!     t
//! ```
//!
//! into the one that the table function would have given:
//!
//! ```text
//! Projection: k, window_start, count(*)
//!   Aggregate: groupBy=[k, window_start, window_end, window_time], aggr=[count(*)]
//!     WindowTableFunction: TUMBLE(size)
//!       t
//! ```

use std::hash::Hash;
use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, Result, plan_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    Aggregate, ColumnarValue, Expr, Extension, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};
use datafusion_streaming_physical_plan::operators::window_tvf::WINDOW_COLUMNS;
use datafusion_streaming_physical_plan::time::WindowAssigner;

use super::WindowTvf;
use super::intervals::{interval_millis, positive};

/// The functions as which windows in GROUP BY, and what is asked of them, are known to the planner.
pub(crate) fn group_window_functions() -> Vec<ScalarUDF> {
    let windows = [GroupWindow::Tumble, GroupWindow::Hop, GroupWindow::Session];
    let parts = [WindowPart::Start, WindowPart::End, WindowPart::Rowtime, WindowPart::Proctime];
    let signature = Signature::variadic_any(Volatility::Immutable);
    let window = |kind| ScalarUDF::new_from_impl(GroupWindowFunction { kind, signature: signature.clone() });
    let part = |part| ScalarUDF::new_from_impl(WindowPartFunction { part, signature: signature.clone() });
    windows.into_iter().map(window).chain(parts.into_iter().map(part)).collect()
}

/// Plans the windows that a query groups by.
///
/// # Errors
/// If there is a window outside of GROUP BY, more than one in it, or one with other arguments than it takes.
pub(crate) fn plan_group_windows(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Aggregate(aggregate) => match window_of(&aggregate)? {
            Some((place, function)) => {
                with_window_function(aggregate, place, &function).map(Transformed::yes)
            }
            None => parts_as_columns(LogicalPlan::Aggregate(aggregate)),
        },
        other => parts_as_columns(other),
    })
    .data()
}

/// The window that an aggregation groups by, and its place in the GROUP BY.
fn window_of(aggregate: &Aggregate) -> Result<Option<(usize, ScalarFunction)>> {
    let mut found = None;
    for (place, expr) in aggregate.group_expr.iter().enumerate() {
        let Expr::ScalarFunction(function) = expr else { continue };
        if kind_of(function).is_none() {
            continue;
        }
        if found.is_some() {
            return plan_err!("a GROUP BY takes a single window, but there is a second one: {expr}");
        }
        found = Some((place, function.clone()));
    }
    Ok(found)
}

fn with_window_function(
    mut aggregate: Aggregate,
    place: usize,
    function: &ScalarFunction,
) -> Result<LogicalPlan> {
    let Some(kind) = kind_of(function) else { return Ok(LogicalPlan::Aggregate(aggregate)) };
    let (time, assigner) = kind.assigner(&function.args)?;
    aggregate.group_expr.remove(place);
    let partition_by = if assigner.is_session() { aggregate.group_expr.clone() } else { vec![] };
    let input = Arc::unwrap_or_clone(aggregate.input);
    let windows = WindowTvf::try_new(input, time, partition_by, assigner)?.of_group_by();
    let input = Arc::new(LogicalPlan::Extension(Extension { node: Arc::new(windows) }));
    let mut group = aggregate.group_expr;
    group.extend(WINDOW_COLUMNS.map(window_column));
    Aggregate::try_new(input, group, aggregate.aggr_expr).map(LogicalPlan::Aggregate)
}

fn window_column(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

/// Replaces `flink_window_start(tumble(…))`, whose argument is a column that the aggregation below gave before,
/// by the column that it gives now.
fn parts_as_columns(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let is_projection = matches!(plan, LogicalPlan::Projection(_));
    let replaced = plan.map_expressions(|expr| {
        let name = expr.schema_name().to_string();
        let replaced = expr.transform_up(|expr| match &expr {
            Expr::ScalarFunction(function) => match (part_of(function), function.args.as_slice()) {
                (Some(part), [Expr::Column(_)]) => part.column().map(Transformed::yes),
                (Some(_), [Expr::ScalarFunction(window)]) => outside_of_group_by(window),
                _ if kind_of(function).is_some() => outside_of_group_by(function),
                _ => Ok(Transformed::no(expr)),
            },
            _ => Ok(Transformed::no(expr)),
        })?;
        Ok(match replaced.transformed && is_projection && replaced.data.schema_name().to_string() != name {
            true => replaced.update_data(|expr| expr.alias(name)),
            false => replaced,
        })
    })?;
    // what is below may have changed, too
    replaced.map_data(LogicalPlan::recompute_schema)
}

fn outside_of_group_by<T>(window: &ScalarFunction) -> Result<T> {
    let name = window.name().to_uppercase();
    plan_err!(
        "{name}(…) is a window of the GROUP BY clause: group by it, with the same arguments, or use \
         FROM TABLE({name}(TABLE …, DESCRIPTOR(…), …)) and its columns window_start and window_end"
    )
}

fn kind_of(function: &ScalarFunction) -> Option<GroupWindow> {
    function.func.inner().downcast_ref::<GroupWindowFunction>().map(|function| function.kind)
}

fn part_of(function: &ScalarFunction) -> Option<WindowPart> {
    function.func.inner().downcast_ref::<WindowPartFunction>().map(|function| function.part)
}

/// The windows of GROUP BY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum GroupWindow {
    Tumble,
    Hop,
    Session,
}

impl GroupWindow {
    fn name(self) -> &'static str {
        match self {
            GroupWindow::Tumble => "tumble",
            GroupWindow::Hop => "hop",
            GroupWindow::Session => "session",
        }
    }

    /// The time column and the windows that the arguments ask for. Unlike the table function, HOP takes any
    /// slide: rows between windows are in none.
    fn assigner(self, args: &[Expr]) -> Result<(Expr, WindowAssigner)> {
        let name = self.name().to_uppercase();
        let interval = |parameter: &str, arg: &Expr| {
            positive(&name, parameter, interval_millis(&name, parameter, arg.clone())?)
        };
        let (time, assigner) = match (self, args) {
            (GroupWindow::Tumble, [time, size]) => {
                (time, WindowAssigner::Tumble { size: interval("size", size)?, offset: 0 })
            }
            (GroupWindow::Hop, [time, slide, size]) => {
                let (slide, size) = (interval("slide", slide)?, interval("size", size)?);
                (time, WindowAssigner::Hop { slide, size, offset: 0 })
            }
            (GroupWindow::Session, [time, gap]) => {
                (time, WindowAssigner::Session { gap: interval("gap", gap)? })
            }
            (GroupWindow::Hop, _) => {
                return plan_err!(
                    "HOP in GROUP BY takes a time column, the slide and the size; for an offset use the table function"
                );
            }
            _ => {
                return plan_err!(
                    "{name} in GROUP BY takes a time column and an interval; for windows with an offset use the table function"
                );
            }
        };
        match time {
            Expr::Column(_) => Ok((time.clone(), assigner)),
            other => plan_err!("{name} in GROUP BY takes a time attribute, not the expression {other}"),
        }
    }
}

/// What can be asked of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum WindowPart {
    Start,
    End,
    Rowtime,
    Proctime,
}

impl WindowPart {
    fn name(self) -> &'static str {
        match self {
            WindowPart::Start => "flink_window_start",
            WindowPart::End => "flink_window_end",
            WindowPart::Rowtime => "flink_window_rowtime",
            WindowPart::Proctime => "flink_window_proctime",
        }
    }

    fn column(self) -> Result<Expr> {
        let [start, end, time] = WINDOW_COLUMNS;
        Ok(window_column(match self {
            WindowPart::Start => start,
            WindowPart::End => end,
            WindowPart::Rowtime | WindowPart::Proctime => time,
        }))
    }
}

/// `TUMBLE(ts, size)` and its like. Its type is that of the window's rowtime.
#[derive(Debug, PartialEq, Eq, Hash)]
struct GroupWindowFunction {
    kind: GroupWindow,
    signature: Signature,
}

/// `TUMBLE_START(…)` and its like, as functions of the window.
#[derive(Debug, PartialEq, Eq, Hash)]
struct WindowPartFunction {
    part: WindowPart,
    signature: Signature,
}

impl ScalarUDFImpl for GroupWindowFunction {
    fn name(&self) -> &str {
        self.kind.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types.first() {
            Some(DataType::Timestamp(_, zone)) => {
                Ok(DataType::Timestamp(TimeUnit::Millisecond, zone.clone()))
            }
            other => plan_err!(
                "{} in GROUP BY takes a time attribute, a TIMESTAMP or TIMESTAMP_LTZ column with a watermark, not {}",
                self.name().to_uppercase(),
                other.map_or("nothing".to_string(), DataType::to_string)
            ),
        }
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        plan_err!("{} is a window of the GROUP BY clause", self.name().to_uppercase())
    }
}

impl ScalarUDFImpl for WindowPartFunction {
    fn name(&self) -> &str {
        self.part.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        let zone = match (self.part, arg_types.first()) {
            (WindowPart::Rowtime | WindowPart::Proctime, Some(DataType::Timestamp(_, zone))) => zone.clone(),
            _ => None,
        };
        Ok(DataType::Timestamp(TimeUnit::Millisecond, zone))
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        plan_err!("{} belongs to a window of the GROUP BY clause", self.name())
    }
}
