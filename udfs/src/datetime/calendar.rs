//! The proleptic Gregorian calendar, and the Julian one where Flink uses it.

use super::{MILLIS_PER_DAY, NANOS_PER_DAY};

/// The day number of 1970-01-01 in the count of Julian days that calendar algorithms use.
const EPOCH_JULIAN: i64 = 2_440_588;

/// The last day of the Julian calendar, 1582-10-04, in days since 1970-01-01.
const LAST_JULIAN_DAY: i64 = -141_428;

/// A day of a calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    /// The year; 0 is the one before year 1.
    pub year: i64,
    /// The month, from 1.
    pub month: i64,
    /// The day of the month, from 1.
    pub day: i64,
}

impl Date {
    /// The Gregorian date of a day since 1970-01-01.
    pub fn from_days(days: i64) -> Self {
        // Counted from 0000-03-01 the leap day is the last of a year, and eras of 400 years are equal.
        let days = days + 719_468;
        let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day_of_year = day - (365 * year + year / 4 - year / 100);
        Self::from_march(era * 400 + year, day_of_year)
    }

    /// The date of a day since 1970-01-01 in the calendar of its time: before 1582-10-15 the Julian.
    pub(super) fn from_days_historically(days: i64) -> Self {
        if days > LAST_JULIAN_DAY {
            return Self::from_days(days);
        }
        // -0000-03-01 of the Julian calendar, from which leap years come every four years
        let days = days + 719_470;
        let (era, day) = (days.div_euclid(1_461), days.rem_euclid(1_461));
        let year = (day - day / 1_460) / 365;
        Self::from_march(era * 4 + year, day - 365 * year)
    }

    /// The date of a day of a year that begins in March.
    fn from_march(year: i64, day_of_year: i64) -> Self {
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let january = month >= 10;
        Self { year: year + i64::from(january), month: if january { month - 9 } else { month + 3 }, day }
    }

    /// The days since 1970-01-01 of this Gregorian date. Months beyond 12 and days beyond the month's
    /// end count on.
    pub fn to_days(self) -> i64 {
        let months = self.year * 12 + self.month - 3;
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12));
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + (153 * month + 2) / 5;
        era * 146_097 + day_of_era + self.day - 1 - 719_468
    }

    /// The number of days of this date's month.
    pub fn length_of_month(self) -> i64 {
        let next = Self { month: self.month + 1, day: 1, ..self };
        next.to_days() - Self { day: 1, ..self }.to_days()
    }

    /// The day of the year, from 1.
    pub fn day_of_year(self) -> i64 {
        self.to_days() - Self { month: 1, day: 1, ..self }.to_days() + 1
    }
}

/// The day of the week of a day since 1970-01-01: 0 is Sunday.
pub(super) fn day_of_week(days: i64) -> i64 {
    (days + EPOCH_JULIAN + 1).rem_euclid(7)
}

/// The year and the number of the week of a day since 1970-01-01. Weeks begin on Sunday, and the first
/// of a year is that of the first of January.
pub(super) fn week_of_year(days: i64) -> (i64, i64) {
    let first_week = |year| {
        let january = Date { year, month: 1, day: 1 }.to_days();
        january - day_of_week(january)
    };
    let year = Date::from_days(days).year;
    let year = if days >= first_week(year + 1) { year + 1 } else { year };
    (year, (days - first_week(year)) / 7 + 1)
}

/// A wall-clock time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalDateTime {
    /// Days since 1970-01-01.
    pub days: i64,
    /// Nanoseconds since midnight.
    pub nanos: i64,
}

impl LocalDateTime {
    /// The wall-clock time of milliseconds since 1970-01-01 00:00:00 and nanoseconds beyond them.
    pub fn from_millis(millis: i64, nanos: i64) -> Self {
        Self {
            days: millis.div_euclid(MILLIS_PER_DAY),
            nanos: millis.rem_euclid(MILLIS_PER_DAY) * 1_000_000 + nanos,
        }
    }

    /// Milliseconds since 1970-01-01 00:00:00; what is finer is cut off. `None` out of range.
    pub fn to_millis(self) -> Option<i64> {
        self.days.checked_mul(MILLIS_PER_DAY)?.checked_add(self.nanos.div_euclid(1_000_000))
    }

    /// The date.
    pub fn date(self) -> Date {
        Date::from_days(self.days)
    }

    /// A time of a day; nanoseconds beyond midnight count on to the next days.
    pub(super) fn new(date: Date, nanos: i64) -> Self {
        Self {
            days: date.to_days() + nanos.div_euclid(NANOS_PER_DAY),
            nanos: nanos.rem_euclid(NANOS_PER_DAY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(year: i64, month: i64, day: i64) -> Date {
        Date { year, month, day }
    }

    #[test]
    fn dates_are_days_and_back() {
        for (days, expected) in [
            (0, date(1970, 1, 1)),
            (-1, date(1969, 12, 31)),
            (19_782, date(2024, 2, 29)),
            (-719_528, date(0, 1, 1)),
            (2_932_896, date(9999, 12, 31)),
        ] {
            assert_eq!(Date::from_days(days), expected);
            assert_eq!(expected.to_days(), days);
        }
        let mut before = Date::from_days(-800_001);
        for days in -800_000..800_000 {
            let now = Date::from_days(days);
            assert!(before < now);
            assert_eq!(now.to_days(), days);
            before = now;
        }
    }

    #[test]
    fn months_and_days_count_on() {
        assert_eq!(date(2024, 13, 1).to_days(), date(2025, 1, 1).to_days());
        assert_eq!(date(2024, 2, 30).to_days(), date(2024, 3, 1).to_days());
        assert_eq!(date(2024, 2, 1).length_of_month(), 29);
        assert_eq!(date(1900, 2, 1).length_of_month(), 28);
        assert_eq!(date(2023, 12, 31).day_of_year(), 365);
    }

    #[test]
    fn old_days_are_julian() {
        let day = date(1582, 10, 15).to_days();
        assert_eq!(Date::from_days_historically(day), date(1582, 10, 15));
        assert_eq!(Date::from_days_historically(day - 1), date(1582, 10, 4));
        assert_eq!(Date::from_days_historically(date(1500, 3, 5).to_days()), date(1500, 2, 24));
        assert_eq!(Date::from_days_historically(date(1, 1, 3).to_days()), date(1, 1, 5));
    }

    #[test]
    fn weeks_begin_on_sunday() {
        assert_eq!(day_of_week(date(2024, 5, 12).to_days()), 0);
        assert_eq!(day_of_week(date(1970, 1, 1).to_days()), 4);
        assert_eq!(day_of_week(date(1899, 11, 26).to_days()), 0);
    }
}
