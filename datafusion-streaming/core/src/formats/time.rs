//! Dates, times and timestamps as text, in the two standards that Flink's formats know.

use arrow::datatypes::TimeUnit;
use chrono::{Datelike, NaiveDate};

use super::Malformed;

/// How a format writes and reads TIMESTAMP and TIMESTAMP_LTZ (`timestamp-format.standard`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimestampStandard {
    /// `2024-01-01 10:00:00.5`; TIMESTAMP_LTZ with a `Z` behind it.
    #[default]
    Sql,
    /// `2024-01-01T10:00:00.5`, where the seconds may be missing; TIMESTAMP_LTZ with a `Z` behind it.
    Iso8601,
}

/// How Java resolves a day that its month does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resolver {
    /// An error.
    Strict,
    /// The last day of the month; and 24:00:00 is midnight of the next day.
    Smart,
}

const SECONDS_PER_DAY: i64 = 86_400;
const NANOS_PER_SECOND: i64 = 1_000_000_000;
/// 1970-01-01, counted as chrono counts: from the first day of the year 1.
const EPOCH_FROM_CE: i64 = 719_163;

/// A DATE (`2024-02-29`) as days since 1970-01-01.
pub(super) fn parse_date(text: &str) -> Result<i32, Malformed> {
    let mut cursor = Cursor::new(text);
    let days = cursor.date(Resolver::Strict).filter(|_| cursor.is_at_end());
    let days =
        days.ok_or_else(|| Malformed::new(format!("'{text}' is not a date of the form yyyy-MM-dd")))?;
    i32::try_from(days).map_err(|_| Malformed::new(format!("the date '{text}' is out of range")))
}

/// A TIME (`10:00:00.5`) as nanoseconds of the day.
pub(super) fn parse_time(text: &str) -> Result<i64, Malformed> {
    let mut cursor = Cursor::new(text);
    let time = cursor.time(true, Resolver::Smart).filter(|_| cursor.is_at_end());
    let Some((seconds, nanos)) = time else {
        return Err(Malformed::new(format!("'{text}' is not a time of the form HH:mm:ss[.fraction]")));
    };
    // 24:00:00 is the midnight at the end of the day, whose time of day is 00:00:00
    Ok(seconds % SECONDS_PER_DAY * NANOS_PER_SECOND + nanos)
}

/// A TIMESTAMP as a number of `unit`s since 1970-01-01T00:00:00, further digits cut off.
pub(super) fn parse_timestamp(
    text: &str,
    standard: TimestampStandard,
    unit: TimeUnit,
) -> Result<i64, Malformed> {
    parse_timestamp_with(text, standard, unit, false)
}

/// A TIMESTAMP_LTZ, whose text is in UTC and ends in `Z`, as a number of `unit`s since
/// 1970-01-01T00:00:00Z.
pub(super) fn parse_timestamp_ltz(
    text: &str,
    standard: TimestampStandard,
    unit: TimeUnit,
) -> Result<i64, Malformed> {
    parse_timestamp_with(text, standard, unit, true)
}

fn parse_timestamp_with(
    text: &str,
    standard: TimestampStandard,
    unit: TimeUnit,
    zoned: bool,
) -> Result<i64, Malformed> {
    let mut cursor = Cursor::new(text);
    let Some((seconds, nanos)) = cursor.timestamp(standard, zoned).filter(|_| cursor.is_at_end()) else {
        let separator = if standard == TimestampStandard::Sql { ' ' } else { 'T' };
        let (zone, of) = if zoned { ("Z", "timestamp in UTC") } else { ("", "timestamp") };
        return Err(Malformed::new(format!(
            "'{text}' is not a {of} of the form yyyy-MM-dd{separator}HH:mm:ss[.fraction]{zone}"
        )));
    };
    let per_second = units_per_second(unit);
    let value =
        i128::from(seconds) * i128::from(per_second) + i128::from(nanos / (NANOS_PER_SECOND / per_second));
    i64::try_from(value).map_err(|_| {
        Malformed::new(format!(
            "the timestamp '{text}' is out of the range of its column; with fewer fractional digits in its \
             type the range is wider"
        ))
    })
}

pub(super) fn units_per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => NANOS_PER_SECOND,
    }
}

/// Reads a text from left to right; every method gives `None` where the text is something else.
struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn new(text: &'a str) -> Self {
        Cursor { rest: text.as_bytes() }
    }

    fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    fn accept(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.accept(byte).then_some(())
    }

    /// The digits from here on, at most `max`, and how many they are.
    fn number(&mut self, max: usize) -> (i64, usize) {
        let (mut value, mut digits) = (0, 0);
        while let Some(digit) = self.rest.get(digits).filter(|byte| byte.is_ascii_digit() && digits < max) {
            value = value * 10 + i64::from(digit - b'0');
            digits += 1;
        }
        self.rest = &self.rest[digits..];
        (value, digits)
    }

    fn two_digits(&mut self) -> Option<i64> {
        let (value, digits) = self.number(2);
        (digits == 2).then_some(value)
    }

    /// `yyyy-MM-dd` as days since 1970-01-01. A year beyond 9999 has a sign.
    fn date(&mut self, resolver: Resolver) -> Option<i64> {
        let negative = self.accept(b'-');
        let positive = !negative && self.accept(b'+');
        let (year, digits) = self.number(10);
        if digits < 4 || (positive && digits == 4) || (!positive && !negative && digits > 4) {
            return None;
        }
        let year = i32::try_from(if negative { -year } else { year }).ok()?;
        self.expect(b'-')?;
        let month = u32::try_from(self.two_digits()?).ok()?;
        self.expect(b'-')?;
        let mut day = u32::try_from(self.two_digits()?).ok()?;
        if resolver == Resolver::Smart && day <= 31 {
            let first = NaiveDate::from_ymd_opt(year, month, 1)?;
            day = day.min(u32::from(first.num_days_in_month()));
        }
        let date = NaiveDate::from_ymd_opt(year, month, day)?;
        Some(i64::from(date.num_days_from_ce()) - EPOCH_FROM_CE)
    }

    /// `HH:mm:ss[.fraction]` as seconds of the day and nanoseconds; without `needs_seconds` also `HH:mm`.
    fn time(&mut self, needs_seconds: bool, resolver: Resolver) -> Option<(i64, i64)> {
        let hour = self.two_digits()?;
        self.expect(b':')?;
        let minute = self.two_digits()?;
        let (mut second, mut nanos) = (0, 0);
        if self.accept(b':') {
            second = self.two_digits()?;
            if self.accept(b'.') {
                let (fraction, digits) = self.number(9);
                nanos = fraction * 10_i64.pow(9 - u32::try_from(digits).ok()?);
            }
        } else if needs_seconds {
            return None;
        }
        let seconds = hour * 3600 + minute * 60 + second;
        let end_of_day =
            hour == 24 && (seconds, nanos) == (SECONDS_PER_DAY, 0) && resolver == Resolver::Smart;
        ((hour < 24 && minute < 60 && second < 60) || end_of_day).then_some((seconds, nanos))
    }

    /// A date and a time as seconds since 1970-01-01 and nanoseconds.
    fn timestamp(&mut self, standard: TimestampStandard, zoned: bool) -> Option<(i64, i64)> {
        let (separator, needs_seconds) = match standard {
            TimestampStandard::Sql => (b' ', true),
            TimestampStandard::Iso8601 => (b'T', false),
        };
        // Of Java's formatters, only ISO_LOCAL_DATE_TIME resolves strictly
        let resolver = match standard {
            TimestampStandard::Iso8601 if !zoned => Resolver::Strict,
            _ => Resolver::Smart,
        };
        let days = self.date(resolver)?;
        self.expect(separator)?;
        let (seconds, nanos) = self.time(needs_seconds, resolver)?;
        if zoned {
            self.expect(b'Z')?;
        }
        Some((days * SECONDS_PER_DAY + seconds, nanos))
    }
}
