//! Rounding to units of time: FLOOR and CEIL.

use std::str::FromStr;

use datafusion_common::{DataFusionError, Result, plan_err};

use super::MILLIS_PER_DAY;
use super::calendar::{Date, day_of_week};

/// A unit that a time can be rounded to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum TimeUnitRange {
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
}

impl FromStr for TimeUnitRange {
    type Err = DataFusionError;

    fn from_str(name: &str) -> Result<Self> {
        Ok(match name.to_ascii_uppercase().as_str() {
            "MILLISECOND" => Self::Millisecond,
            "SECOND" => Self::Second,
            "MINUTE" => Self::Minute,
            "HOUR" => Self::Hour,
            "DAY" => Self::Day,
            "WEEK" => Self::Week,
            "MONTH" => Self::Month,
            "QUARTER" => Self::Quarter,
            "YEAR" => Self::Year,
            "DECADE" => Self::Decade,
            "CENTURY" => Self::Century,
            "MILLENNIUM" => Self::Millennium,
            _ => {
                return plan_err!(
                    "FLOOR and CEIL do not round to {name}. Use MILLISECOND, SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, \
                     QUARTER, YEAR, DECADE, CENTURY or MILLENNIUM"
                );
            }
        })
    }
}

impl TimeUnitRange {
    /// The milliseconds of a unit that is always of the same length, up to DAY.
    pub fn millis(self) -> Option<i64> {
        match self {
            Self::Millisecond => Some(1),
            Self::Second => Some(1_000),
            Self::Minute => Some(60_000),
            Self::Hour => Some(3_600_000),
            Self::Day => Some(MILLIS_PER_DAY),
            _ => None,
        }
    }
}

/// The start of the unit that a wall-clock time lies in. Milliseconds since 1970-01-01 00:00:00.
///
/// As in Flink, units longer than a day cut a time before 1970 to the *next* midnight first.
pub fn floor(unit: TimeUnitRange, millis: i64) -> i64 {
    match unit.millis() {
        Some(length) => millis.div_euclid(length) * length,
        None => floor_date(unit, millis / MILLIS_PER_DAY) * MILLIS_PER_DAY,
    }
}

/// The start of the next unit, or the time itself where it is the start of one. As in Flink, units
/// longer than a day look at the day only, and go on to the next unit as [`ceil_date`] does.
pub fn ceil(unit: TimeUnitRange, millis: i64) -> i64 {
    match unit.millis() {
        Some(length) => -(-millis).div_euclid(length) * length,
        None => ceil_date(unit, millis / MILLIS_PER_DAY) * MILLIS_PER_DAY,
    }
}

/// The first day of the unit that a day lies in; the day itself for DAY and what is finer.
///
/// As in Flink, a day before 1582-10-15 is taken for one of the Julian calendar, and the first day of
/// its unit for one of the Gregorian.
pub fn floor_date(unit: TimeUnitRange, days: i64) -> i64 {
    let date = Date::from_days_historically(days);
    let first = |year: i64, month: i64| Date { year, month, day: 1 }.to_days();
    match unit {
        TimeUnitRange::Day => date.to_days(),
        TimeUnitRange::Week => date.to_days() - day_of_week(days),
        TimeUnitRange::Month => first(date.year, date.month),
        TimeUnitRange::Quarter => first(date.year, quarter(date) * 3 - 2),
        TimeUnitRange::Year => first(date.year, 1),
        TimeUnitRange::Decade => first(date.year / 10 * 10, 1),
        TimeUnitRange::Century => first((date.year + 99) / 100 * 100 - 99, 1),
        TimeUnitRange::Millennium => first((date.year + 999) / 1000 * 1000 - 999, 1),
        _ => days,
    }
}

/// The first day of the next unit, or the day itself where it is the first of a week, month or year.
///
/// Some days surprise as they do in Flink: DAY, DECADE, CENTURY and MILLENNIUM always go on to the next
/// one, and QUARTER stays on the first of January only.
pub fn ceil_date(unit: TimeUnitRange, days: i64) -> i64 {
    let date = Date::from_days_historically(days);
    let new_year = date.month == 1 && date.day == 1;
    let first = |year: i64, month: i64| Date { year, month, day: 1 }.to_days();
    match unit {
        TimeUnitRange::Day => date.to_days() + 1,
        TimeUnitRange::Week => date.to_days() + (7 - day_of_week(days)) % 7,
        TimeUnitRange::Month => first(date.year, date.month + i64::from(date.day > 1)),
        TimeUnitRange::Quarter => first(date.year, (quarter(date) + i64::from(!new_year)) * 3 - 2),
        TimeUnitRange::Year => first(date.year + i64::from(!new_year), 1),
        TimeUnitRange::Decade => first(date.year / 10 * 10 + 10, 1),
        TimeUnitRange::Century => first((date.year + 99) / 100 * 100 + 1, 1),
        TimeUnitRange::Millennium => first((date.year + 999) / 1000 * 1000 + 1, 1),
        _ => days,
    }
}

fn quarter(date: Date) -> i64 {
    (date.month + 2) / 3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(year: i64, month: i64, day: i64) -> i64 {
        Date { year, month, day }.to_days()
    }

    #[test]
    fn days_of_old_are_read_as_julian() {
        assert_eq!(floor_date(TimeUnitRange::Month, day(1500, 3, 5)), day(1500, 2, 1));
        assert_eq!(floor_date(TimeUnitRange::Year, day(1, 1, 3)), day(1, 1, 1));
        assert_eq!(ceil_date(TimeUnitRange::Month, day(1582, 10, 16)), day(1582, 11, 1));
        assert_eq!(floor_date(TimeUnitRange::Week, day(800, 2, 10)), day(800, 2, 2));
    }

    #[test]
    fn quarters_stay_in_january_only() {
        assert_eq!(ceil_date(TimeUnitRange::Quarter, day(2024, 1, 1)), day(2024, 1, 1));
        assert_eq!(ceil_date(TimeUnitRange::Quarter, day(2024, 4, 1)), day(2024, 7, 1));
        assert_eq!(ceil_date(TimeUnitRange::Quarter, day(2024, 12, 1)), day(2025, 1, 1));
        assert_eq!(floor_date(TimeUnitRange::Quarter, day(2024, 12, 31)), day(2024, 10, 1));
    }

    #[test]
    fn times_before_1970() {
        assert_eq!(floor(TimeUnitRange::Second, -1), -1_000);
        assert_eq!(ceil(TimeUnitRange::Second, -1), 0);
        assert_eq!(floor(TimeUnitRange::Year, -1), 0);
        assert_eq!(floor(TimeUnitRange::Week, -1), day(1969, 12, 28) * MILLIS_PER_DAY);
    }

    #[test]
    fn units_are_named() {
        assert_eq!("hour".parse::<TimeUnitRange>().unwrap(), TimeUnitRange::Hour);
        assert!("FORTNIGHT".parse::<TimeUnitRange>().unwrap_err().to_string().contains("FORTNIGHT"));
    }
}
