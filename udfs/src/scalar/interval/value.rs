//! Interval values.
//!
//! Flink has two kinds of intervals, of months and of milliseconds. Both are Arrow's intervals of months, days and nanoseconds, with
//! whole days as days and the rest, of the same sign, as nanoseconds, so that equal intervals have equal values.

use std::fmt::Write;

use arrow::datatypes::{DataType, Field, IntervalMonthDayNano, IntervalUnit};

use crate::datetime::{MILLIS_PER_DAY, NANOS_PER_DAY};
use crate::scalar::time::add_months;
use crate::types::FLINK_TYPE;

/// The type of intervals.
pub(in crate::scalar) const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);

/// The name of the interval type of months.
pub(in crate::scalar) const MONTHS: &str = "INTERVAL MONTH";

/// Whether a type is that of intervals.
pub(in crate::scalar) fn is_interval(data_type: &DataType) -> bool {
    data_type == &INTERVAL
}

/// An interval of milliseconds; `None` beyond 32 bits of days.
pub(super) fn of_millis(millis: i64) -> Option<IntervalMonthDayNano> {
    let days = i32::try_from(millis / MILLIS_PER_DAY).ok()?;
    Some(IntervalMonthDayNano::new(0, days, millis % MILLIS_PER_DAY * 1_000_000))
}

/// An interval of months.
pub(super) fn of_months(months: i32) -> IntervalMonthDayNano {
    IntervalMonthDayNano::new(months, 0, 0)
}

/// The milliseconds of an interval that has no months.
pub(super) fn millis(value: IntervalMonthDayNano) -> i64 {
    i64::from(value.days) * MILLIS_PER_DAY + value.nanoseconds / 1_000_000
}

/// A time in nanoseconds that is later by an interval: first by its months, of which the last day may cut the day off, then by the rest.
/// `None` out of range.
pub(super) fn later(nanos: i128, interval: IntervalMonthDayNano) -> Option<i128> {
    const DAY: i128 = NANOS_PER_DAY as i128;
    let day = i64::try_from(nanos.div_euclid(DAY)).ok()?;
    let day = if interval.months == 0 { day } else { add_months(day, interval.months.into()) };
    Some(i128::from(day) * DAY + nanos.rem_euclid(DAY) + i128::from(millis(interval)) * 1_000_000)
}

/// The result field of a function that makes intervals of months or of milliseconds, which only its metadata tells.
pub(super) fn interval_field(name: &str, months: bool, nullable: bool) -> Field {
    let field = Field::new(name, INTERVAL, nullable);
    if months { field.with_metadata([(FLINK_TYPE.to_owned(), MONTHS.to_owned())].into()) } else { field }
}

/// Appends an interval as Flink casts it: `+1-02` of years and months, `-0 00:00:00.001` of days and a time.
pub(in crate::scalar) fn write_interval(value: IntervalMonthDayNano, of_months: bool, text: &mut String) {
    // writing to a String cannot fail
    let _ = if of_months || value.months != 0 {
        let (sign, months) = (if value.months < 0 { '-' } else { '+' }, value.months.unsigned_abs());
        write!(text, "{sign}{}-{:02}", months / 12, months % 12)
    } else {
        let millis = millis(value);
        let (sign, rest) = (if millis < 0 { '-' } else { '+' }, millis.unsigned_abs());
        let seconds = rest / 1_000;
        write!(
            text,
            "{sign}{} {:02}:{:02}:{:02}.{:03}",
            seconds / 86_400,
            seconds / 3_600 % 24,
            seconds / 60 % 60,
            seconds % 60,
            rest % 1_000
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_as_text() {
        let text = |value, months| {
            let mut text = String::new();
            write_interval(value, months, &mut text);
            text
        };
        assert_eq!(text(of_millis(-1).unwrap(), false), "-0 00:00:00.001");
        assert_eq!(text(of_millis(93_784_500).unwrap(), false), "+1 02:03:04.500");
        assert_eq!(text(of_months(14), true), "+1-02");
        assert_eq!(text(of_months(-287), true), "-23-11");
        assert_eq!(text(of_months(0), true), "+0-00");
        assert_eq!(millis(of_millis(-86_400_001).unwrap()), -86_400_001);
    }
}
