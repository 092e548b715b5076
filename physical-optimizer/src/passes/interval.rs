//! Interval joins: joins of two rowtimes whose condition bounds their difference.

use std::sync::Arc;

use arrow::datatypes::{DataType, IntervalMonthDayNano};
use datafusion_common::{Result, ScalarValue, plan_err};
use datafusion_expr::Operator;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{BinaryExpr, CastExpr, Column, Literal};
use datafusion_physical_expr::utils::split_conjunction;
use datafusion_streaming_physical_plan::operators::join::interval::Interval;
use datafusion_streaming_physical_plan::operators::join::regular::JoinSpec;
use datafusion_streaming_physical_plan::operators::join::{LEFT, RIGHT, Residual};
use datafusion_streaming_physical_plan::runtime::{StreamTraits, TimeAttributeKind};

/// The interval of a join whose condition bounds the rowtimes from both sides, and what of the condition
/// is left to be tested besides it; `None`: it is no interval join.
pub(super) fn interval_of(
    spec: &JoinSpec,
    inputs: [&StreamTraits; 2],
) -> Result<Option<(Interval, Option<Residual>)>> {
    let is_rowtime =
        |port: usize, column: usize| inputs[port].time_attribute(column) == Some(TimeAttributeKind::Rowtime);
    let mut bounds = Bounds::default();
    for (left, right) in spec.keys[LEFT].iter().zip(&spec.keys[RIGHT]) {
        if is_rowtime(LEFT, *left) && is_rowtime(RIGHT, *right) {
            bounds.add([*left, *right], Operator::Eq, 0);
        }
    }
    let mut left_over = vec![];
    if let Some(residual) = &spec.residual {
        for condition in split_conjunction(residual.expression()) {
            let is_bound = compared_times(condition, residual).is_some_and(|(left, right, operator)| {
                let are_rowtimes = is_rowtime(LEFT, left.column) && is_rowtime(RIGHT, right.column);
                let offset = right.offset.saturating_sub(left.offset);
                let is_exact = left.is_exact && right.is_exact;
                are_rowtimes && bounds.add([left.column, right.column], operator, offset) && is_exact
            });
            if !is_bound {
                left_over.push(Arc::clone(condition));
            }
        }
    }
    let Some(interval) = bounds.interval() else { return Ok(None) };
    let zoned = |port: usize| match spec.inputs[port].field(interval.times[port]).data_type() {
        DataType::Timestamp(_, zone) => zone.is_some(),
        _ => false,
    };
    if zoned(LEFT) != zoned(RIGHT) {
        return plan_err!(
            "an interval join compares rowtimes of one type, but {} is a TIMESTAMP and {} a TIMESTAMP_LTZ, or the \
             other way round",
            spec.inputs[LEFT].field(interval.times[LEFT]).name(),
            spec.inputs[RIGHT].field(interval.times[RIGHT]).name()
        );
    }
    let left_over = left_over.into_iter().reduce(|all, condition| {
        Arc::new(BinaryExpr::new(all, Operator::And, condition)) as Arc<dyn PhysicalExpr>
    });
    let residual = spec.residual.as_ref().zip(left_over).map(|(residual, expression)| {
        Residual::new(expression, residual.columns().to_vec(), Arc::clone(residual.schema()))
    });
    Ok(Some((interval, residual)))
}

/// The sides of `left.time + left.offset <operator> right.time + right.offset`.
fn compared_times(
    condition: &Arc<dyn PhysicalExpr>,
    residual: &Residual,
) -> Option<(Linear, Linear, Operator)> {
    let comparison = condition.downcast_ref::<BinaryExpr>()?;
    let (a, b) = (linear(comparison.left(), residual)?, linear(comparison.right(), residual)?);
    match (a.port, b.port) {
        (LEFT, RIGHT) => Some((a, b, *comparison.op())),
        (RIGHT, LEFT) => Some((b, a, comparison.op().swap()?)),
        _ => None,
    }
}

/// Bounds of the left time less the right time.
#[derive(Default)]
struct Bounds {
    times: Option<[usize; 2]>,
    lower: Option<i64>,
    upper: Option<i64>,
}

impl Bounds {
    /// Adds `left.time <operator> right.time + offset`; whether it is a bound of these times.
    fn add(&mut self, times: [usize; 2], operator: Operator, offset: i64) -> bool {
        if self.times.is_some_and(|known| known != times) {
            return false;
        }
        let (lower, upper) = match operator {
            Operator::Eq => (Some(offset), Some(offset)),
            Operator::Gt => (Some(offset.saturating_add(1)), None),
            Operator::GtEq => (Some(offset), None),
            Operator::Lt => (None, Some(offset.saturating_sub(1))),
            Operator::LtEq => (None, Some(offset)),
            _ => return false,
        };
        self.times = Some(times);
        if let Some(lower) = lower {
            self.lower = Some(self.lower.map_or(lower, |known| known.max(lower)));
        }
        if let Some(upper) = upper {
            self.upper = Some(self.upper.map_or(upper, |known| known.min(upper)));
        }
        true
    }

    fn interval(&self) -> Option<Interval> {
        Some(Interval { times: self.times?, lower: self.lower?, upper: self.upper? })
    }
}

/// A time column and milliseconds.
#[derive(Clone, Copy)]
struct Linear {
    port: usize,
    column: usize,
    offset: i64,
    /// Whether the expression says no more than that, as a cast may.
    is_exact: bool,
}

/// An expression of the form `time + interval - interval …`.
fn linear(expression: &Arc<dyn PhysicalExpr>, residual: &Residual) -> Option<Linear> {
    if let Some(column) = expression.downcast_ref::<Column>() {
        let (port, column) = *residual.columns().get(column.index())?;
        return Some(Linear { port, column, offset: 0, is_exact: true });
    }
    if let Some(cast) = expression.downcast_ref::<CastExpr>() {
        let is_time = matches!(cast.cast_type(), DataType::Timestamp(_, _));
        let time = linear(cast.expr(), residual).filter(|_| is_time)?;
        return Some(Linear { is_exact: false, ..time });
    }
    let sum = expression.downcast_ref::<BinaryExpr>()?;
    match sum.op() {
        Operator::Plus => match (linear(sum.left(), residual), linear(sum.right(), residual)) {
            (Some(time), None) => Some(Linear { offset: time.offset + millis(sum.right())?, ..time }),
            (None, Some(time)) => Some(Linear { offset: time.offset + millis(sum.left())?, ..time }),
            _ => None,
        },
        Operator::Minus => {
            let time = linear(sum.left(), residual)?;
            Some(Linear { offset: time.offset - millis(sum.right())?, ..time })
        }
        _ => None,
    }
}

/// A constant interval of whole milliseconds without months.
fn millis(expression: &Arc<dyn PhysicalExpr>) -> Option<i64> {
    match expression.downcast_ref::<Literal>()?.value() {
        ScalarValue::IntervalMonthDayNano(Some(IntervalMonthDayNano { months: 0, days, nanoseconds }))
            if nanoseconds % 1_000_000 == 0 =>
        {
            Some(i64::from(*days) * 86_400_000 + nanoseconds / 1_000_000)
        }
        ScalarValue::IntervalDayTime(Some(interval)) => {
            Some(i64::from(interval.days) * 86_400_000 + i64::from(interval.milliseconds))
        }
        _ => None,
    }
}
