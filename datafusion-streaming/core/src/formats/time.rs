//! Dates, times and timestamps as text, in the two standards that Flink's formats know.

use arrow::datatypes::TimeUnit;
use chrono::{Datelike, NaiveDate};
use datafusion::common::{Result as DataFusionResult, exec_err};

use super::Malformed;
use super::number::trim;

/// How a format writes and reads TIMESTAMP and TIMESTAMP_LTZ (`timestamp-format.standard`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimestampStandard {
    /// `2024-01-01 10:00:00.5`; TIMESTAMP_LTZ with a `Z` behind it.
    #[default]
    Sql,
    /// `2024-01-01T10:00:00.5`, where the seconds may be missing; TIMESTAMP_LTZ with a `Z` behind it.
    Iso8601,
}

/// How a format reads dates and times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeForms {
    /// JSON: dates and times as SQL writes them, timestamps by a standard.
    Json(TimestampStandard),
    /// CSV: what `java.sql.Date.valueOf` and `LocalTime.parse` read, and timestamps as SQL writes them, with
    /// blanks around them.
    Csv,
}

impl TimeForms {
    /// A DATE as days since 1970-01-01.
    pub(super) fn parse_date(self, text: &str) -> Result<i32, Malformed> {
        match self {
            TimeForms::Json(_) => parse_date(text),
            TimeForms::Csv => parse_lenient_date(text),
        }
    }

    /// A TIME as `unit`s of the day; further digits are cut off.
    pub(super) fn parse_time(self, text: &str, unit: TimeUnit) -> Result<i64, Malformed> {
        let nanos = match self {
            TimeForms::Json(_) => parse_time(text),
            TimeForms::Csv => parse_iso_time(text),
        }?;
        Ok(nanos / (NANOS_PER_SECOND / units_per_second(unit)))
    }

    /// A TIMESTAMP, or with `zoned` a TIMESTAMP_LTZ (whose text is in UTC and ends in `Z`), as a number of
    /// `unit`s since 1970-01-01T00:00:00; further digits are cut off.
    pub(super) fn parse_timestamp(self, text: &str, unit: TimeUnit, zoned: bool) -> Result<i64, Malformed> {
        let (seconds, nanos) = self.seconds_and_nanos(text, zoned)?;
        let per_second = units_per_second(unit);
        let value = i128::from(seconds) * i128::from(per_second)
            + i128::from(nanos / (NANOS_PER_SECOND / per_second));
        i64::try_from(value)
            .map_err(|_| Malformed::new(format!("the timestamp '{text}' is out of the range of its column")))
    }

    /// The same in nanoseconds of 128 bits.
    pub(super) fn parse_wide_timestamp(self, text: &str, zoned: bool) -> Result<i128, Malformed> {
        let (seconds, nanos) = self.seconds_and_nanos(text, zoned)?;
        Ok(i128::from(seconds) * i128::from(NANOS_PER_SECOND) + i128::from(nanos))
    }

    fn seconds_and_nanos(self, text: &str, zoned: bool) -> Result<(i64, i64), Malformed> {
        match self {
            TimeForms::Json(standard) => parse_timestamp(text, standard, zoned),
            TimeForms::Csv => parse_timestamp(trim(text), TimestampStandard::Sql, zoned),
        }
    }
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
fn parse_date(text: &str) -> Result<i32, Malformed> {
    let mut cursor = Cursor::new(text);
    let days = cursor.date(Resolver::Strict).filter(|_| cursor.is_at_end());
    let days =
        days.ok_or_else(|| Malformed::new(format!("'{text}' is not a date of the form yyyy-MM-dd")))?;
    i32::try_from(days).map_err(|_| Malformed::new(format!("the date '{text}' is out of range")))
}

/// A DATE as Java's `java.sql.Date.valueOf` reads it, which CSV does: month and day may have one digit,
/// and a day that the month does not have counts on into the next one.
fn parse_lenient_date(text: &str) -> Result<i32, Malformed> {
    let mut cursor = Cursor::new(text);
    let days = cursor.lenient_date().filter(|_| cursor.is_at_end());
    let days =
        days.ok_or_else(|| Malformed::new(format!("'{text}' is not a date of the form yyyy-[M]M-[d]d")))?;
    i32::try_from(days).map_err(|_| Malformed::new(format!("the date '{text}' is out of range")))
}

/// A TIME as Java's `LocalTime.parse` reads it, which CSV does: the seconds may be missing.
fn parse_iso_time(text: &str) -> Result<i64, Malformed> {
    let mut cursor = Cursor::new(text);
    let time = cursor.time(false, Resolver::Strict).filter(|_| cursor.is_at_end());
    let time = time.map(|(seconds, nanos)| seconds * NANOS_PER_SECOND + nanos);
    time.ok_or_else(|| Malformed::new(format!("'{text}' is not a time of the form HH:mm[:ss[.fraction]]")))
}

/// A TIME (`10:00:00.5`) as nanoseconds of the day.
fn parse_time(text: &str) -> Result<i64, Malformed> {
    let mut cursor = Cursor::new(text);
    let time = cursor.time(true, Resolver::Smart).filter(|_| cursor.is_at_end());
    let Some((seconds, nanos)) = time else {
        return Err(Malformed::new(format!("'{text}' is not a time of the form HH:mm:ss[.fraction]")));
    };
    // 24:00:00 is the midnight at the end of the day, whose time of day is 00:00:00
    Ok(seconds % SECONDS_PER_DAY * NANOS_PER_SECOND + nanos)
}

/// Seconds since 1970-01-01T00:00:00, and the nanoseconds beyond them.
fn parse_timestamp(text: &str, standard: TimestampStandard, zoned: bool) -> Result<(i64, i64), Malformed> {
    let mut cursor = Cursor::new(text);
    let time = cursor.timestamp(standard, zoned).filter(|_| cursor.is_at_end());
    time.ok_or_else(|| {
        let separator = if standard == TimestampStandard::Sql { ' ' } else { 'T' };
        let (zone, of) = if zoned { ("Z", "timestamp in UTC") } else { ("", "timestamp") };
        Malformed::new(format!(
            "'{text}' is not a {of} of the form yyyy-MM-dd{separator}HH:mm:ss[.fraction]{zone}"
        ))
    })
}

fn units_per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => NANOS_PER_SECOND,
    }
}

/// Writes a DATE, given as days since 1970-01-01.
pub(super) fn write_date(days: i64, out: &mut Vec<u8>) -> DataFusionResult<()> {
    let from_ce = days.checked_add(EPOCH_FROM_CE).and_then(|days| i32::try_from(days).ok());
    let Some(date) = from_ce.and_then(NaiveDate::from_num_days_from_ce_opt) else {
        return exec_err!("the date of day {days} since 1970-01-01 is out of range");
    };
    match date.year() {
        year @ 0..=9999 => write_digits(i64::from(year), 4, out),
        year => {
            out.push(if year < 0 { b'-' } else { b'+' });
            write_digits(i64::from(year.unsigned_abs()), 4, out);
        }
    }
    out.push(b'-');
    write_digits(i64::from(date.month()), 2, out);
    out.push(b'-');
    write_digits(i64::from(date.day()), 2, out);
    Ok(())
}

/// Writes a TIME, given as `unit`s of the day, with no more digits than it needs.
pub(super) fn write_time(value: i64, unit: TimeUnit, out: &mut Vec<u8>) {
    let per_second = units_per_second(unit);
    let (seconds, fraction) = (value.div_euclid(per_second), value.rem_euclid(per_second));
    write_digits(seconds / 3600, 2, out);
    out.push(b':');
    write_digits(seconds / 60 % 60, 2, out);
    out.push(b':');
    write_digits(seconds % 60, 2, out);
    if fraction > 0 {
        out.push(b'.');
        write_digits(fraction * (NANOS_PER_SECOND / per_second), 9, out);
        let zeros = out.iter().rev().take_while(|digit| **digit == b'0').count();
        out.truncate(out.len() - zeros);
    }
}

/// Writes a TIMESTAMP, or with `zoned` a TIMESTAMP_LTZ, given as `unit`s since 1970-01-01T00:00:00.
pub(super) fn write_timestamp(
    value: i64,
    unit: TimeUnit,
    standard: TimestampStandard,
    zoned: bool,
    out: &mut Vec<u8>,
) -> DataFusionResult<()> {
    let per_day = units_per_second(unit) * SECONDS_PER_DAY;
    write_day_and_time(value.div_euclid(per_day), value.rem_euclid(per_day), unit, standard, zoned, out)
}

/// The same for nanoseconds of 128 bits.
pub(super) fn write_wide_timestamp(
    nanos: i128,
    standard: TimestampStandard,
    zoned: bool,
    out: &mut Vec<u8>,
) -> DataFusionResult<()> {
    const DAY: i128 = (SECONDS_PER_DAY * NANOS_PER_SECOND) as i128;
    let Ok(days) = i64::try_from(nanos.div_euclid(DAY)) else {
        return exec_err!("the time {nanos} ns from 1970-01-01 is out of range");
    };
    write_day_and_time(days, nanos.rem_euclid(DAY) as i64, TimeUnit::Nanosecond, standard, zoned, out)
}

fn write_day_and_time(
    days: i64,
    of_day: i64,
    unit: TimeUnit,
    standard: TimestampStandard,
    zoned: bool,
    out: &mut Vec<u8>,
) -> DataFusionResult<()> {
    write_date(days, out)?;
    out.push(if standard == TimestampStandard::Sql { b' ' } else { b'T' });
    write_time(of_day, unit, out);
    if zoned {
        out.push(b'Z');
    }
    Ok(())
}

/// Writes a number that is not negative, with zeros in front up to `width` digits.
fn write_digits(value: i64, width: usize, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let (mut rest, mut start) = (value, digits.len());
    while rest > 0 || digits.len() - start < width {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&digits[start..]);
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

    /// `yyyy-M-d` as days since 1970-01-01.
    fn lenient_date(&mut self) -> Option<i64> {
        let (year, year_digits) = self.number(4);
        self.expect(b'-')?;
        let (month, month_digits) = self.number(2);
        self.expect(b'-')?;
        let (day, day_digits) = self.number(2);
        if year_digits != 4 || month_digits == 0 || day_digits == 0 || !(1..=31).contains(&day) {
            return None;
        }
        let first = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, u32::try_from(month).ok()?, 1)?;
        Some(i64::from(first.num_days_from_ce()) - EPOCH_FROM_CE + day - 1)
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
        let needs_seconds = standard == TimestampStandard::Sql;
        // Of Java's formatters, only ISO_LOCAL_DATE_TIME resolves strictly
        let resolver = match standard {
            TimestampStandard::Iso8601 if !zoned => Resolver::Strict,
            _ => Resolver::Smart,
        };
        let days = self.date(resolver)?;
        let separated = match standard {
            TimestampStandard::Sql => self.accept(b' '),
            TimestampStandard::Iso8601 => self.accept(b'T') || (!zoned && self.accept(b't')),
        };
        if !separated {
            return None;
        }
        let (seconds, nanos) = self.time(needs_seconds, resolver)?;
        if zoned {
            self.expect(b'Z')?;
        }
        Some((days * SECONDS_PER_DAY + seconds, nanos))
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::TimeUnit::*;

    use super::*;

    const SQL: TimeForms = TimeForms::Json(TimestampStandard::Sql);
    const ISO: TimeForms = TimeForms::Json(TimestampStandard::Iso8601);
    const DAY: i64 = SECONDS_PER_DAY;

    #[test]
    fn dates() {
        for (text, days) in [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2024-02-29", 19_782),
            ("0001-01-01", -719_162),
            ("9999-12-31", 2_932_896),
            ("+10000-01-01", 2_932_897),
            ("0000-01-01", -719_528),
            ("-0001-12-31", -719_529),
        ] {
            assert_eq!(SQL.parse_date(text), Ok(days), "{text}");
            let mut out = vec![];
            write_date(i64::from(days), &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
        for text in [
            "2023-02-29",
            "2024-1-01",
            "24-01-01",
            "2024-13-01",
            "10000-01-01",
            "2024-01-01 ",
            "",
            "20240101",
        ] {
            assert!(SQL.parse_date(text).is_err(), "{text}");
        }
    }

    #[test]
    fn dates_in_csv_are_lenient() {
        assert_eq!(TimeForms::Csv.parse_date("2024-1-2"), SQL.parse_date("2024-01-02"));
        assert_eq!(TimeForms::Csv.parse_date("2024-02-30"), SQL.parse_date("2024-03-01"));
        for text in ["2024-13-01", "2024-01-32", "2024-01-00", "24-01-01", "2024-01"] {
            assert!(TimeForms::Csv.parse_date(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(SQL.parse_time("23:59:59.123456789", Nanosecond), Ok(86_399_123_456_789));
        assert_eq!(SQL.parse_time("00:00:01.9", Second), Ok(1));
        assert_eq!(SQL.parse_time("00:00:01.9", Millisecond), Ok(1_900));
        assert_eq!(SQL.parse_time("12:00:00.", Second), Ok(43_200));
        assert_eq!(SQL.parse_time("24:00:00", Second), Ok(0));
        for text in ["24:00:01", "12:60:00", "12:00:60", "12:00", "1:00:00", "12:00:00.1234567890"] {
            assert!(SQL.parse_time(text, Second).is_err(), "{text}");
        }
        assert_eq!(TimeForms::Csv.parse_time("12:00", Second), Ok(43_200));
        assert!(TimeForms::Csv.parse_time("24:00:00", Second).is_err());
    }

    #[test]
    fn timestamps() {
        let sql = |text: &str| SQL.parse_timestamp(text, Millisecond, false).ok();
        assert_eq!(sql("1970-01-02 00:00:00"), Some(DAY * 1000));
        assert_eq!(sql("1969-12-31 23:59:59.999"), Some(-1));
        assert_eq!(sql("1970-01-01 00:00:00.1239"), Some(123));
        // Cut off, not towards zero: this is how Flink keeps milliseconds
        assert_eq!(sql("1969-12-31 23:59:59.9999"), Some(-1));
        // Java's smart resolver
        assert_eq!(sql("2023-02-30 00:00:00"), sql("2023-02-28 00:00:00"));
        assert_eq!(sql("2023-02-28 24:00:00"), sql("2023-03-01 00:00:00"));
        for text in
            ["2023-02-32 00:00:00", "2023-02-01T00:00:00", "2023-02-01 00:00", "2023-02-01 00:00:00Z", "5"]
        {
            assert_eq!(sql(text), None, "{text}");
        }

        let ltz = |text: &str| SQL.parse_timestamp(text, Second, true).ok();
        assert_eq!(ltz("1970-01-02 00:00:00Z"), Some(DAY));
        assert_eq!(ltz("1970-01-02 00:00:00"), None);
        assert_eq!(ltz("1970-01-02 00:00:00+00:00"), None);

        let iso = |text: &str, zoned| ISO.parse_timestamp(text, Second, zoned).ok();
        assert_eq!(iso("1970-01-02T00:00:01.5", false), Some(DAY + 1));
        assert_eq!(iso("1970-01-02t00:01", false), Some(DAY + 60));
        assert_eq!(iso("1970-01-02T00:01Z", true), Some(DAY + 60));
        assert_eq!(iso("2023-02-30T00:00:00", false), None);
        assert_eq!(iso("2023-02-30T00:00:00Z", true), iso("2023-02-28T00:00:00Z", true));
        assert_eq!(iso("1970-01-02 00:00:00", false), None);

        assert_eq!(TimeForms::Csv.parse_timestamp(" 1970-01-02 00:00:00 ", Second, false), Ok(DAY));
    }

    #[test]
    fn the_range_of_a_timestamp_is_that_of_its_unit() {
        let nanos = |text: &str| SQL.parse_timestamp(text, Nanosecond, false);
        assert_eq!(nanos("2262-04-11 23:47:16.854775807"), Ok(i64::MAX));
        assert_eq!(nanos("1677-09-21 00:12:43.145224192"), Ok(i64::MIN));
        for text in ["2262-04-11 23:47:16.854775808", "1677-09-21 00:12:43.145224191", "0001-01-01 00:00:00"]
        {
            assert!(nanos(text).unwrap_err().to_string().contains("out of the range"), "{text}");
        }
        assert_eq!(
            SQL.parse_timestamp("0001-01-01 00:00:00", Microsecond, false),
            Ok(-62_135_596_800_000_000)
        );
        for (text, expected) in [
            ("0001-01-01 00:00:00.000000001", -62_135_596_799_999_999_999),
            ("9999-12-31 23:59:59.999999999", 253_402_300_799_999_999_999),
            ("1969-12-31 23:59:59.9999999", -100),
        ] {
            let nanos = SQL.parse_wide_timestamp(text, false);
            assert_eq!(nanos, Ok(expected));
            let mut out = vec![];
            write_wide_timestamp(expected, TimestampStandard::Sql, false, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[test]
    fn timestamps_print_with_the_digits_they_need() {
        let print = |value, unit, standard, zoned| {
            let mut out = vec![];
            write_timestamp(value, unit, standard, zoned, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let sql = TimestampStandard::Sql;
        assert_eq!(print(0, Second, sql, false), "1970-01-01 00:00:00");
        assert_eq!(print(-1, Nanosecond, sql, false), "1969-12-31 23:59:59.999999999");
        assert_eq!(print(1_500, Millisecond, sql, true), "1970-01-01 00:00:01.5Z");
        assert_eq!(print(1_050, Millisecond, TimestampStandard::Iso8601, true), "1970-01-01T00:00:01.05Z");
        assert_eq!(print(-62_135_596_800_000, Millisecond, sql, false), "0001-01-01 00:00:00");
        assert!(write_timestamp(i64::MAX, Second, sql, false, &mut vec![]).is_err());
    }
}
