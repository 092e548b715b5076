//! TIMESTAMPDIFF.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array};
use arrow::datatypes::{DataType, TimeUnit};
use datafusion_common::{Result, plan_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::instants::Instants;
use crate::datetime::{Date, MILLIS_PER_DAY};
use crate::scalar::arguments::{array, constant_text, is_text};
use crate::scalar::plain::Plain;
use crate::timestamps::is_timestamp;

/// `TIMESTAMPDIFF(unit, a, b)`, planned as `flink_timestampdiff('UNIT', a, b)`: the whole units from a to b as
/// an INT, which wraps. Weeks are counted from the wrapped seconds, as in Flink.
pub(super) fn timestamp_difference() -> ScalarUDF {
    Plain::new("flink_timestampdiff", "TIMESTAMPDIFF(<SYMBOL>, <DATETIME>, <DATETIME>)", types, evaluate)
        .udf()
}

fn is_time(data_type: &DataType) -> bool {
    is_timestamp(data_type) || matches!(data_type, DataType::Date32 | DataType::Null)
}

/// What a time is read as: a DATE is its midnight.
fn read_as(data_type: &DataType) -> DataType {
    match data_type {
        time if is_timestamp(time) => time.clone(),
        _ => DataType::Timestamp(TimeUnit::Second, None),
    }
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [unit, from, to] if is_text(unit) && is_time(from) && is_time(to) => {
            Some((vec![DataType::Utf8, read_as(from), read_as(to)], DataType::Int32))
        }
        _ => None,
    }
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (from, to) = (array(args, 1)?, array(args, 2)?);
    let from = Instants::new(&from, &args.config_options)?;
    let to = Instants::new(&to, &args.config_options)?;
    let unit = constant_text(args, 0).flatten().unwrap_or_default();
    let difference: fn(i64, i64) -> i64 = match unit {
        "SECOND" => |from, to| (to - from) / 1_000,
        "MINUTE" => |from, to| (to - from) / 60_000,
        "HOUR" => |from, to| (to - from) / 3_600_000,
        "DAY" => |from, to| (to - from) / MILLIS_PER_DAY,
        "WEEK" => |from, to| i64::from(((to - from) / 1_000) as i32) / 604_800,
        "MONTH" => months_between,
        "QUARTER" => |from, to| months_between(from, to) / 3,
        "YEAR" => |from, to| months_between(from, to) / 12,
        other => return plan_err!("TIMESTAMPDIFF does not know the unit {other}"),
    };
    let differences: Int32Array = (0..args.number_rows)
        .map(|row| Some(difference(from.millis(row)?.0, to.millis(row)?.0) as i32))
        .collect();
    Ok(Arc::new(differences))
}

/// The whole months from one time to another, both in milliseconds.
pub(in crate::scalar) fn months_between(from: i64, to: i64) -> i64 {
    let (from_day, to_day) = (from.div_euclid(MILLIS_PER_DAY), to.div_euclid(MILLIS_PER_DAY));
    let months = months_of_days(from_day, to_day);
    let same_day = add_months(from_day, months) == to_day;
    if same_day && to.rem_euclid(MILLIS_PER_DAY) < from.rem_euclid(MILLIS_PER_DAY) {
        months - 1
    } else {
        months
    }
}

fn months_of_days(from: i64, to: i64) -> i64 {
    if to < from {
        return -months_of_days(to, from);
    }
    let (first, last) = (Date::from_days(from), Date::from_days(to));
    let months = (last.year - first.year) * 12 + last.month - first.month;
    if add_months(from, months) > to { months - 1 } else { months }
}

/// A day so many months later, or the last of that month if it has no such day.
pub(in crate::scalar) fn add_months(days: i64, months: i64) -> i64 {
    let date = Date::from_days(days);
    let month = date.year * 12 + date.month - 1 + months;
    let mut date = Date { year: month.div_euclid(12), month: month.rem_euclid(12) + 1, day: 1 };
    date.day = Date::from_days(days).day.min(date.length_of_month());
    date.to_days()
}
