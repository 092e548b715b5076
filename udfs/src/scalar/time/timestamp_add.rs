//! TIMESTAMPADD.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, TimeUnit};
use datafusion_common::{DataFusionError, Result, exec_datafusion_err, plan_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::timestamp_difference::add_months;
use crate::datetime::MILLIS_PER_DAY;
use crate::scalar::arguments::{array, constant_text, is_text};
use crate::scalar::plain::{Plain, is_integer};
use crate::timestamps::{TimestampType, Timestamps, is_timestamp};

/// `TIMESTAMPADD(unit, n, time)`, planned as `flink_timestampadd('UNIT', n, time)`: a time so many units later. The
/// type stays; a TIME goes round. A DATE takes days and longer units only: the planner makes a TIMESTAMP of it for others.
pub(super) fn timestamp_add() -> ScalarUDF {
    Plain::new("flink_timestampadd", "TIMESTAMPADD(<SYMBOL>, <INTEGER>, <DATETIME>)", types, evaluate).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let [unit, count, time] = args else { return None };
    let is_time =
        is_timestamp(time) || matches!(time, DataType::Date32 | DataType::Time32(_) | DataType::Time64(_));
    (is_text(unit) && is_integer(count) && is_time)
        .then(|| (vec![DataType::Utf8, DataType::Int64, time.clone()], time.clone()))
}

enum Step {
    Seconds(i64),
    Months(i64),
}

fn step(unit: &str) -> Result<Step> {
    Ok(match unit {
        "SECOND" => Step::Seconds(1),
        "MINUTE" => Step::Seconds(60),
        "HOUR" => Step::Seconds(3_600),
        "DAY" => Step::Seconds(86_400),
        "WEEK" => Step::Seconds(604_800),
        "MONTH" => Step::Months(1),
        "QUARTER" => Step::Months(3),
        "YEAR" => Step::Months(12),
        other => return plan_err!("TIMESTAMPADD does not know the unit {other}"),
    })
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let step = step(constant_text(args, 0).flatten().unwrap_or_default())?;
    let times = array(args, 2)?;
    let counts = cast(&array(args, 1)?, &DataType::Int64)?;
    if let Some(of) = TimestampType::of(times.data_type()).filter(|of| of.is_wide()) {
        return add_to_wide(of, &times, counts.as_primitive::<Int64Type>(), &step);
    }
    // how many of the units of the array a day has
    let day = match times.data_type() {
        DataType::Date32 => 1,
        DataType::Timestamp(unit, _) | DataType::Time32(unit) | DataType::Time64(unit) => {
            86_400
                * match unit {
                    TimeUnit::Second => 1,
                    TimeUnit::Millisecond => 1_000,
                    TimeUnit::Microsecond => 1_000_000,
                    TimeUnit::Nanosecond => 1_000_000_000,
                }
        }
        other => return plan_err!("TIMESTAMPADD of {other}"),
    };
    let round = matches!(times.data_type(), DataType::Time32(_) | DataType::Time64(_));
    let narrow = matches!(times.data_type(), DataType::Date32 | DataType::Time32(_));
    let values = if narrow {
        cast(&cast(&times, &DataType::Int32)?, &DataType::Int64)?
    } else {
        cast(&times, &DataType::Int64)?
    };
    let add = |value: i64, count: i64| match step {
        Step::Seconds(seconds) if day == 1 => value.checked_add(count.checked_mul(seconds / 86_400)?),
        Step::Seconds(seconds) => {
            let sum = value.checked_add(count.checked_mul(seconds)?.checked_mul(day / 86_400)?)?;
            Some(if round { sum.rem_euclid(day) } else { sum })
        }
        Step::Months(months) => {
            let days = add_months(value.div_euclid(day), count.checked_mul(months)?);
            days.checked_mul(day)?.checked_add(value.rem_euclid(day))
        }
    };
    let sums = values.as_primitive::<Int64Type>().iter().zip(counts.as_primitive::<Int64Type>()).map(|row| {
        let (Some(value), Some(count)) = row else { return Ok(None) };
        let sum = add(value, count);
        sum.map(Some).ok_or_else(|| out_of_range(count))
    });
    let sums: ArrayRef = Arc::new(sums.collect::<Result<Int64Array>>()?);
    let sums = if narrow { cast(&sums, &DataType::Int32)? } else { sums };
    Ok(cast(&sums, times.data_type())?)
}

fn out_of_range(count: i64) -> DataFusionError {
    exec_datafusion_err!("TIMESTAMPADD({count}) is out of range")
}

/// The same for timestamps of 128 bits.
fn add_to_wide(of: TimestampType, times: &ArrayRef, counts: &Int64Array, step: &Step) -> Result<ArrayRef> {
    let times = Timestamps::new(times)?;
    let add = |millis: i64, count: i64| match step {
        Step::Seconds(seconds) => millis.checked_add(count.checked_mul(*seconds)?.checked_mul(1_000)?),
        Step::Months(months) => {
            let days = add_months(millis.div_euclid(MILLIS_PER_DAY), count.checked_mul(*months)?);
            days.checked_mul(MILLIS_PER_DAY)?.checked_add(millis.rem_euclid(MILLIS_PER_DAY))
        }
    };
    let sums = counts.iter().enumerate().map(|(row, count)| {
        let (Some((millis, nanos)), Some(count)) = (times.millis(row), count) else { return Ok(None) };
        add(millis, count).map(|millis| Some((millis, nanos))).ok_or_else(|| out_of_range(count))
    });
    of.collect(sums, |_| Ok(()))
}
