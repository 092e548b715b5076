//! EXTRACT and its short forms YEAR, MONTH, HOUR and so on.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, IntervalMonthDayNanoType, TimeUnit};
use datafusion_common::{Result, plan_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::instants::session_zone;
use crate::datetime::{Date, MILLIS_PER_DAY};
use crate::scalar::arguments::{array, constant_text, is_text};
use crate::scalar::interval::is_interval;
use crate::scalar::plain::Plain;
use crate::timestamps::{TimestampType, TimestampUnit, Timestamps, is_timestamp};

/// `EXTRACT(unit FROM time)`, planned as `date_part('UNIT', time)`: a BIGINT. A TIMESTAMP_LTZ is seen in the session's zone. Times
/// before 1970 are cut toward 1970, as in Flink: their day may be the next one, and their hours are negative.
pub fn extract_udf() -> ScalarUDF {
    Plain::new("date_part", "EXTRACT(<SYMBOL> FROM <DATETIME>)", unit_and_time, |args| {
        let unit = constant_text(args, 0).flatten().unwrap_or_default().to_ascii_uppercase();
        extract(args, 1, &unit)
    })
    .stable()
    .udf()
}

/// A short form of EXTRACT for one unit.
pub(super) fn short_form(
    name: &'static str,
    form: &'static str,
    evaluate: fn(&ScalarFunctionArgs) -> Result<ArrayRef>,
) -> ScalarUDF {
    Plain::new(name, form, one_time, evaluate).stable().udf()
}

fn is_time(data_type: &DataType) -> bool {
    is_timestamp(data_type)
        || matches!(data_type, DataType::Date32 | DataType::Time32(_) | DataType::Time64(_))
}

fn one_time(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [time] if is_time(time) => Some((vec![time.clone()], DataType::Int64)),
        _ => None,
    }
}

fn unit_and_time(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [unit, time] if is_text(unit) && (is_time(time) || is_interval(time)) => {
            Some((vec![DataType::Utf8, time.clone()], DataType::Int64))
        }
        _ => None,
    }
}

/// A field of a day, counted from 1970-01-01.
type OfDay = fn(i64) -> i64;
/// A field of the nanoseconds beyond a day.
type OfTime = fn(i64) -> i64;

enum Field {
    Day(OfDay),
    Time(OfTime),
    Epoch,
}

impl Field {
    /// The field of a day and the nanoseconds beyond it.
    fn of(&self, day: i64, nanos: i64) -> i64 {
        match self {
            Field::Day(of) => of(day),
            Field::Time(of) => of(nanos),
            Field::Epoch => day * 86_400 + nanos / 1_000_000_000,
        }
    }
}

fn field(unit: &str) -> Result<Field> {
    const SECOND: i64 = 1_000_000_000;
    Ok(match unit {
        "YEAR" => Field::Day(|day| Date::from_days(day).year),
        "QUARTER" => Field::Day(|day| (Date::from_days(day).month - 1) / 3 + 1),
        "MONTH" => Field::Day(|day| Date::from_days(day).month),
        "DAY" => Field::Day(|day| Date::from_days(day).day),
        "DOY" => Field::Day(|day| Date::from_days(day).day_of_year()),
        "DOW" => Field::Day(|day| (day + 4).rem_euclid(7) + 1),
        "ISODOW" => Field::Day(|day| (day + 3).rem_euclid(7) + 1),
        "ISOYEAR" => Field::Day(|day| Date::from_days(thursday(day)).year),
        "WEEK" => Field::Day(|day| (Date::from_days(thursday(day)).day_of_year() - 1) / 7 + 1),
        "DECADE" => Field::Day(|day| Date::from_days(day).year.div_euclid(10)),
        "CENTURY" => Field::Day(|day| (Date::from_days(day).year + 99).div_euclid(100)),
        "MILLENNIUM" => Field::Day(|day| (Date::from_days(day).year + 999).div_euclid(1000)),
        "HOUR" => Field::Time(|nanos| nanos / (3_600 * SECOND)),
        "MINUTE" => Field::Time(|nanos| nanos / (60 * SECOND) % 60),
        "SECOND" => Field::Time(|nanos| nanos / SECOND % 60),
        "MILLISECOND" => Field::Time(|nanos| nanos % SECOND / 1_000_000),
        "MICROSECOND" => Field::Time(|nanos| nanos % SECOND / 1_000),
        "NANOSECOND" => Field::Time(|nanos| nanos % SECOND),
        "EPOCH" => Field::Epoch,
        other => return plan_err!("EXTRACT does not know the unit {other}"),
    })
}

/// The Thursday of the week of a day: it lies in the year that the ISO week counts for.
fn thursday(day: i64) -> i64 {
    day - (day + 3).rem_euclid(7) + 3
}

/// The unit of the times of an argument.
pub(super) fn extract(args: &ScalarFunctionArgs, index: usize, unit: &str) -> Result<ArrayRef> {
    let times = array(args, index)?;
    if is_interval(times.data_type()) {
        return of_intervals(&times, unit);
    }
    let field = field(unit)?;
    if matches!(times.data_type(), DataType::Time32(_) | DataType::Time64(_))
        && !matches!(field, Field::Time(_))
    {
        return plan_err!("unit {unit} can not be applied to time variable");
    }
    if let Some(of) = TimestampType::of(times.data_type()).filter(|of| of.digits() > 3) {
        return of_fine(&times, of, &field, unit, args);
    }
    let zone = session_zone(&args.config_options)?;
    let (values, per_second, zone) = match times.data_type() {
        DataType::Date32 => (cast(&cast(&times, &DataType::Int32)?, &DataType::Int64)?, None, None),
        DataType::Time32(unit) => {
            (cast(&cast(&times, &DataType::Int32)?, &DataType::Int64)?, Some(*unit), None)
        }
        DataType::Time64(unit) => (cast(&times, &DataType::Int64)?, Some(*unit), None),
        DataType::Timestamp(unit, local) => {
            (cast(&times, &DataType::Int64)?, Some(*unit), local.is_some().then_some(zone))
        }
        other => return plan_err!("EXTRACT of {other}"),
    };
    let split = |value: i64| -> (i64, i64) {
        let per_second = match per_second {
            None => return (value, 0),
            Some(TimeUnit::Second) => 1,
            Some(TimeUnit::Millisecond) => 1_000,
            Some(TimeUnit::Microsecond) => 1_000_000,
            Some(TimeUnit::Nanosecond) => 1_000_000_000,
        };
        let value = match zone {
            None => value,
            Some(zone) => {
                let millis = value.div_euclid(per_second) * 1_000;
                value + (zone.to_local(millis) - millis) / 1_000 * per_second
            }
        };
        let day = per_second * (MILLIS_PER_DAY / 1_000);
        (value / day, value % day * (1_000_000_000 / per_second))
    };
    let fields: Int64Array = values.as_primitive::<Int64Type>().unary(|value| {
        let (day, nanos) = split(value);
        field.of(day, nanos)
    });
    Ok(Arc::new(fields))
}

/// A field of timestamps that have more digits than milliseconds. As in Flink all but MICROSECOND and NANOSECOND are those of the whole
/// milliseconds, and these two count on from them.
fn of_fine(
    times: &ArrayRef,
    of: TimestampType,
    field: &Field,
    unit: &str,
    args: &ScalarFunctionArgs,
) -> Result<ArrayRef> {
    let zone = if of.is_instant { Some(session_zone(&args.config_options)?) } else { None };
    let digits = match unit {
        "NANOSECOND" => Some(1),
        "MICROSECOND" => Some(1_000),
        _ => None,
    };
    let value = |millis: i64, nanos: i64| {
        let millis = zone.map_or(millis, |zone| zone.to_local(millis));
        let (day, of_day) = (millis / MILLIS_PER_DAY, millis % MILLIS_PER_DAY);
        let nanos = match digits {
            Some(digit) => of_day % 1_000 * 1_000_000 + nanos / digit * digit,
            None => of_day * 1_000_000,
        };
        field.of(day, nanos)
    };
    if let TimestampUnit::Arrow(unit) = of.unit {
        let per_milli = if unit == TimeUnit::Nanosecond { 1_000_000 } else { 1_000 };
        let numbers = cast(times, &DataType::Int64)?;
        let fields: Int64Array = numbers.as_primitive::<Int64Type>().unary(|number| {
            value(number.div_euclid(per_milli), number.rem_euclid(per_milli) * (1_000_000 / per_milli))
        });
        return Ok(Arc::new(fields));
    }
    let times = Timestamps::new(times)?;
    let row = |row: usize| times.millis(row).map(|(millis, nanos)| value(millis, nanos));
    Ok(Arc::new((0..args.number_rows).map(row).collect::<Int64Array>()))
}

/// The unit of intervals, of years and months or of days and a time.
fn of_intervals(intervals: &ArrayRef, unit: &str) -> Result<ArrayRef> {
    let of: fn(i64, i64) -> i64 = match unit {
        "YEAR" => |months, _| months / 12,
        "QUARTER" => |months, _| months % 12 / 3 + 1,
        "MONTH" => |months, _| months % 12,
        "DAY" => |_, millis| millis / MILLIS_PER_DAY,
        "HOUR" => |_, millis| millis / 3_600_000 % 24,
        "MINUTE" => |_, millis| millis / 60_000 % 60,
        "SECOND" => |_, millis| millis / 1_000 % 60,
        "MILLISECOND" => |_, millis| millis % 1_000,
        "EPOCH" => |_, millis| millis / 1_000,
        other => return plan_err!("EXTRACT does not know the unit {other} of an interval"),
    };
    let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>();
    Ok(Arc::new(intervals.unary::<_, Int64Type>(|interval| {
        let millis = i64::from(interval.days) * MILLIS_PER_DAY + interval.nanoseconds / 1_000_000;
        of(i64::from(interval.months), millis)
    })))
}
