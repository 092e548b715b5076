//! Intervals as arguments of windows.

use arrow::datatypes::IntervalMonthDayNano;
use datafusion::common::{Result, ScalarValue, plan_datafusion_err, plan_err};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;

const MILLIS_PER_DAY: i64 = 86_400_000;

/// A constant interval in milliseconds; an error that names the function and its parameter.
pub(super) fn interval_millis(function: &str, parameter: &str, argument: Expr) -> Result<i64> {
    let shown = argument.to_string();
    let expr = ExprSimplifier::new(SimplifyContext::default()).simplify(argument)?;
    let millis = match &expr {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(interval)), _) => millis_of(interval),
        Expr::Literal(ScalarValue::IntervalDayTime(Some(interval)), _) => {
            Some(i64::from(interval.days) * MILLIS_PER_DAY + i64::from(interval.milliseconds))
        }
        _ => None,
    };
    millis.ok_or_else(|| {
        plan_datafusion_err!(
            "{function}: {parameter} must be an interval of days or less, such as INTERVAL '10' MINUTE, not {shown}"
        )
    })
}

/// The milliseconds of an interval that has no months.
fn millis_of(interval: &IntervalMonthDayNano) -> Option<i64> {
    (interval.months == 0)
        .then(|| i64::from(interval.days) * MILLIS_PER_DAY + interval.nanoseconds / 1_000_000)
}

/// A number of milliseconds, which must be above 0.
pub(super) fn positive(function: &str, parameter: &str, millis: i64) -> Result<i64> {
    match millis > 0 {
        true => Ok(millis),
        false => plan_err!("{function}: {parameter} must be at least a millisecond"),
    }
}
