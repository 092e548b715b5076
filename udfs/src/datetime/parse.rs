//! Text as times by a pattern.

use std::collections::HashMap;

use super::NANOS_PER_DAY;
use super::calendar::{Date, LocalDateTime, day_of_week};
use super::pattern::{Element, Field, Length, Name, Pattern, Sign};
use super::print::texts;

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// Reads `y[-M[-d]]`, the year up to 9999, with spaces around each number. What stands behind a space is ignored unless the
/// text begins with one. `None` for a text of another form and for a day that the month does not have.
pub fn parse_date(text: &str) -> Option<Date> {
    let text = match text.find(' ') {
        Some(space @ 1..) => &text[..space],
        _ => text,
    };
    let mut parts = text.splitn(3, '-');
    let mut number = |least: i64, most: i64| match parts.next() {
        None => Some(least.max(1)),
        Some(part) => {
            let part = part.trim_matches(|letter| letter <= ' ');
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse().ok().filter(|number| digits && (least..=most).contains(number))
        }
    };
    let date = Date { year: number(0, 9999)?, month: number(1, 12)?, day: number(1, 31)? };
    (date.day <= date.length_of_month()).then_some(date)
}

/// Reads a timestamp as Flink's `TO_TIMESTAMP(text)` does:
/// `yyyy-[M]M-[d]d[ [H]H:[m]m:[s]s[.f{0,9}]]`. A day beyond the end of its month is the last one.
/// `None` for any other text.
pub fn parse_timestamp(text: &str) -> Option<LocalDateTime> {
    let (date, time) = match text.split_once(' ') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let year = parts.next().filter(|year| year.len() == 4).and_then(digits)?;
    let month = parts.next().and_then(short)?;
    let day = parts.next().and_then(short)?;
    if parts.next().is_some() || year == 0 {
        return None;
    }
    let nanos = match time {
        Some(time) => {
            let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
            let mut parts = clock.split(':');
            let hour = parts.next().and_then(short)?;
            let minute = parts.next().and_then(short)?;
            let second = parts.next().and_then(short)?;
            if parts.next().is_some() || fraction.len() > 9 {
                return None;
            }
            time_of_day(hour, minute, second, fraction_nanos(fraction)?)?
        }
        None => 0,
    };
    Some(LocalDateTime::new(clamped(year, month, day)?, nanos))
}

/// Reads a timestamp or a date as Java's `Timestamp.valueOf` and `Date.valueOf` do: with days up to 31
/// in any month and with any time, all of which count on.
pub fn parse_sql_timestamp(text: &str) -> Option<LocalDateTime> {
    let text = text.trim();
    let (date, time) = match text.split_once(' ') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let year = parts.next().filter(|year| year.len() == 4).and_then(digits)?;
    let month = parts.next().and_then(short).filter(|month| (1..=12).contains(month))?;
    let day = parts.next().and_then(short).filter(|day| (1..=31).contains(day))?;
    if parts.next().is_some() {
        return None;
    }
    let nanos = match time {
        Some(time) => {
            let mut parts = time.splitn(3, ':');
            let hour = parts.next().and_then(|hour| hour.parse::<i32>().ok())?;
            let minute = parts.next().and_then(|minute| minute.parse::<i32>().ok())?;
            let seconds = parts.next()?;
            let (second, fraction) = match seconds.split_once('.') {
                Some((second, fraction)) if (1..=9).contains(&fraction.len()) => (second, fraction),
                Some(_) => return None,
                None => (seconds, ""),
            };
            let second = second.parse::<i32>().ok()?;
            let seconds = (i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second);
            seconds * NANOS_PER_SECOND + fraction_nanos(fraction)?
        }
        None => 0,
    };
    Some(LocalDateTime::new(Date { year, month, day }, nanos))
}

/// A number of ASCII digits.
fn digits(text: &str) -> Option<i64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// A number of one or two digits.
fn short(text: &str) -> Option<i64> {
    digits(text).filter(|_| text.len() <= 2)
}

/// The nanoseconds of up to nine digits behind a point.
fn fraction_nanos(fraction: &str) -> Option<i64> {
    if fraction.is_empty() {
        return Some(0);
    }
    Some(digits(fraction)? * 10_i64.pow(9_u32.checked_sub(u32::try_from(fraction.len()).ok()?)?))
}

/// The nanoseconds of a time of day; 24:00 is the end of the day.
fn time_of_day(hour: i64, minute: i64, second: i64, nanos: i64) -> Option<i64> {
    let end_of_day = (hour, minute, second, nanos) == (24, 0, 0, 0);
    let valid = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
    (end_of_day || valid).then_some(((hour * 60 + minute) * 60 + second) * NANOS_PER_SECOND + nanos)
}

/// A date whose day is brought back into its month.
fn clamped(year: i64, month: i64, day: i64) -> Option<Date> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let first = Date { year, month, day: 1 };
    Some(Date { day: day.min(first.length_of_month()), ..first })
}

/// What a pattern has found in a text.
#[derive(Debug, Clone, Default)]
struct Found {
    numbers: HashMap<Field, i64>,
    names: HashMap<u8, i64>,
}

impl Found {
    /// Notes a number; `None` where the text has said otherwise.
    fn number(&mut self, field: Field, value: i64) -> Option<()> {
        (*self.numbers.entry(field).or_insert(value) == value).then_some(())
    }

    fn name(&mut self, name: Name, value: i64) -> Option<()> {
        match name {
            Name::Month => self.number(Field::Month, value + 1),
            Name::DayOfWeek => self.number(Field::DayOfWeek, value + 1),
            Name::Quarter => self.number(Field::Quarter, value + 1),
            Name::Era | Name::AmPm => (*self.names.entry(name as u8).or_insert(value) == value).then_some(()),
        }
    }

    fn get(&self, field: Field) -> Option<i64> {
        self.numbers.get(&field).copied()
    }

    fn named(&self, name: Name) -> Option<i64> {
        self.names.get(&(name as u8)).copied()
    }
}

impl Pattern {
    /// Reads a time from a text of the form of the pattern. What the pattern does not ask for is that
    /// of 1970-01-01 00:00:00; a day beyond the end of its month is the last one; an offset is read
    /// over. `None` where the text has another form or what it says cannot be.
    pub fn read(&self, text: &str) -> Option<LocalDateTime> {
        let mut found = Found::default();
        let rest = read_elements(&self.elements, text, &mut found)?;
        if rest.is_empty() { resolve(&found) } else { None }
    }
}

/// Reads elements from the start of a text and returns the rest of it.
fn read_elements<'a>(mut elements: &[Element], mut text: &'a str, found: &mut Found) -> Option<&'a str> {
    while let Some((element, behind)) = elements.split_first() {
        elements = behind;
        text = match element {
            Element::OptionalStart => {
                let end = optional_end(elements);
                let mut tried = found.clone();
                let rest = read_elements(&elements[..end], text, &mut tried);
                elements = elements.get(end + 1..).unwrap_or_default();
                if rest.is_some() {
                    *found = tried;
                }
                rest.unwrap_or(text)
            }
            other => read_element(other, text, found)?,
        };
    }
    Some(text)
}

/// Where the optional part that the elements begin with ends.
fn optional_end(elements: &[Element]) -> usize {
    let mut depth = 0;
    for (at, element) in elements.iter().enumerate() {
        match element {
            Element::OptionalStart => depth += 1,
            Element::OptionalEnd if depth == 0 => return at,
            Element::OptionalEnd => depth -= 1,
            _ => {}
        }
    }
    elements.len()
}

fn read_element<'a>(element: &Element, text: &'a str, found: &mut Found) -> Option<&'a str> {
    match element {
        Element::Literal(literal) => text.strip_prefix(literal.as_str()),
        Element::Number { field, min, max, sign, reserved } => {
            let (value, rest) = read_number(text, *min, *max, *sign, *reserved)?;
            found.number(*field, value)?;
            Some(rest)
        }
        Element::TwoDigitYear(field) => {
            let (value, rest) = read_number(text, 2, 2, Sign::Never, 0)?;
            found.number(*field, 2000 + value)?;
            Some(rest)
        }
        Element::Fraction(count) => {
            let (fraction, rest) = text.split_at_checked(*count)?;
            digits(fraction)?;
            found.number(Field::NanoOfSecond, fraction_nanos(fraction)?)?;
            Some(rest)
        }
        Element::Named(name, length) => {
            let texts = texts(*name, if *length == Length::Narrow { Length::Short } else { *length });
            let longest = texts.iter().enumerate().filter(|(_, name)| text.starts_with(name.as_str()));
            let (value, name_text) = longest.max_by_key(|(_, name)| name.len())?;
            found.name(*name, i64::try_from(value).ok()?)?;
            Some(&text[name_text.len()..])
        }
        Element::Offset(letter, _) => read_offset(text, *letter),
        Element::OptionalStart | Element::OptionalEnd => Some(text),
    }
}

/// Reads a number of `min` to `max` digits, and leaves `reserved` of them to the numbers behind it.
fn read_number(text: &str, min: usize, max: usize, sign: Sign, reserved: usize) -> Option<(i64, &str)> {
    let (negative, plus, digits_text) = match (sign, text.as_bytes().first()) {
        (Sign::Normal | Sign::ExceedsPad, Some(b'-')) => (true, false, &text[1..]),
        (Sign::ExceedsPad, Some(b'+')) => (false, true, &text[1..]),
        _ => (false, false, text),
    };
    let present = digits_text.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = present.min(max + reserved);
    if reserved > 0 {
        length = length.saturating_sub(reserved).max(min);
    }
    if length < min || length > present {
        return None;
    }
    // a year of more digits than the pattern has letters is written with a plus
    if sign == Sign::ExceedsPad && !negative && (length > min) != plus {
        return None;
    }
    let (number, rest) = digits_text.split_at(length);
    let value = digits(number)?;
    Some((if negative { -value } else { value }, rest))
}

/// Reads over an offset such as `Z`, `+02`, `+0200` or `+02:00`.
fn read_offset(text: &str, letter: char) -> Option<&str> {
    if letter == 'X'
        && let Some(rest) = text.strip_prefix('Z')
    {
        return Some(rest);
    }
    let text = if matches!(letter, 'z' | 'O' | 'V') {
        let text = text.strip_prefix("UTC").or_else(|| text.strip_prefix("GMT"))?;
        if !text.starts_with(['+', '-']) {
            return Some(text);
        }
        text
    } else {
        text
    };
    let text = text.strip_prefix(['+', '-'])?;
    let length = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b':').count();
    (length > 0).then(|| &text[length..])
}

/// Puts together what has been found, as Java's smart resolver and Flink's defaults do.
fn resolve(found: &Found) -> Option<LocalDateTime> {
    let year = match (found.get(Field::Year), found.get(Field::YearOfEra)) {
        (Some(year), None) => Some(year),
        (year, Some(of_era)) => {
            if of_era < 1 {
                return None;
            }
            let resolved = if found.named(Name::Era) == Some(0) { 1 - of_era } else { of_era };
            if year.is_some_and(|year| year != resolved) {
                return None;
            }
            Some(resolved)
        }
        (None, None) => None,
    };
    let date = resolve_date(found, year)?;
    let nanos = resolve_time(found)?;
    let complete =
        year.is_some() && (found.get(Field::Day).is_some() || found.get(Field::DayOfYear).is_some());
    if complete
        && let Some(day) = found.get(Field::DayOfWeek)
        && day_of_week(date.to_days()) + 1 != day
    {
        return None;
    }
    if nanos == NANOS_PER_DAY && !complete {
        return None;
    }
    Some(LocalDateTime::new(date, nanos))
}

fn resolve_date(found: &Found, year: Option<i64>) -> Option<Date> {
    let year = year.unwrap_or(1970);
    if let (None, Some(day)) = (found.get(Field::Month), found.get(Field::DayOfYear)) {
        let first = Date { year, month: 1, day: 1 };
        let length = Date { year: year + 1, ..first }.to_days() - first.to_days();
        let valid = (1..=length).contains(&day);
        return valid.then(|| Date::from_days(first.to_days() + day - 1));
    }
    clamped(year, found.get(Field::Month).unwrap_or(1), found.get(Field::Day).unwrap_or(1))
}

fn resolve_time(found: &Found) -> Option<i64> {
    if let Some(nanos) = found.get(Field::NanoOfDay) {
        return (0..NANOS_PER_DAY).contains(&nanos).then_some(nanos);
    }
    if let Some(millis) = found.get(Field::MilliOfDay) {
        let nanos = millis.checked_mul(1_000_000)?;
        return (0..NANOS_PER_DAY).contains(&nanos).then_some(nanos);
    }
    let half_hour = match (found.get(Field::HourOfAmPm), found.get(Field::ClockHourOfAmPm)) {
        (Some(hour), _) => Some(hour),
        (None, Some(clock)) => (1..=12).contains(&clock).then_some(clock % 12),
        (None, None) => None,
    };
    let hour = match (found.get(Field::HourOfDay), found.get(Field::ClockHourOfDay)) {
        (Some(hour), _) => hour,
        (None, Some(clock)) => (1..=24).contains(&clock).then_some(clock % 24)?,
        (None, None) => match (half_hour, found.named(Name::AmPm)) {
            (Some(hour), Some(half)) => (0..12).contains(&hour).then_some(half * 12 + hour)?,
            // without AM or PM the hour is not known
            _ => 0,
        },
    };
    let minute = found.get(Field::Minute).unwrap_or(0);
    let second = found.get(Field::Second).unwrap_or(0);
    let nanos = found.get(Field::NanoOfSecond).unwrap_or(0);
    time_of_day(hour, minute, second, (0..NANOS_PER_SECOND).contains(&nanos).then_some(nanos)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(time: Option<LocalDateTime>) -> String {
        let Some(time) = time else { return "NULL".to_owned() };
        let mut text = String::new();
        Pattern::parse("yyyy-MM-dd HH:mm:ss.SSS").unwrap().print(time, &mut text).unwrap();
        text.trim_end_matches(".000").to_owned()
    }

    #[test]
    fn timestamps_in_the_default_form() {
        for (text, expected) in [
            ("2024-02-29 10:11:12", "2024-02-29 10:11:12"),
            ("2024-02-30 00:00:00", "2024-02-29 00:00:00"),
            ("2024-02-29 10:11:12.123456", "2024-02-29 10:11:12.123"),
            ("2024-02-29", "2024-02-29 00:00:00"),
            ("2024-2-9 1:2:3", "2024-02-09 01:02:03"),
            ("2024-02-29 24:00:00", "2024-03-01 00:00:00"),
            ("2024-02-29 10:11:12.", "2024-02-29 10:11:12"),
            ("1969-12-31 23:59:59", "1969-12-31 23:59:59"),
            ("9999-12-31 23:59:59", "9999-12-31 23:59:59"),
            ("29/02/2024", "NULL"),
            ("20240229", "NULL"),
            ("", "NULL"),
            ("2024", "NULL"),
            ("2024-02", "NULL"),
            ("10:11", "NULL"),
            ("2024-02-29T10:11:12", "NULL"),
            ("2024-02-29 10:11:12 tail", "NULL"),
            ("2024-02-29 25:00:00", "NULL"),
            ("12024-02-29 10:11:12", "NULL"),
            ("2024-13-01 00:00:00", "NULL"),
            ("0000-01-01 00:00:00", "NULL"),
        ] {
            assert_eq!(show(parse_timestamp(text)), expected, "{text}");
        }
    }

    #[test]
    fn timestamps_by_pattern() {
        for (text, pattern, expected) in [
            ("29/02/2024", "dd/MM/yyyy", "2024-02-29 00:00:00"),
            ("2024-02-29 10:11:12.123456", "yyyy-MM-dd HH:mm:ss.SSSSSS", "2024-02-29 10:11:12.123"),
            ("20240229", "yyyyMMdd", "2024-02-29 00:00:00"),
            ("20240229101112345", "yyyyMMddHHmmssSSS", "2024-02-29 10:11:12.345"),
            ("2024", "yyyy", "2024-01-01 00:00:00"),
            ("2024-02", "yyyy-MM", "2024-02-01 00:00:00"),
            ("10:11", "HH:mm", "1970-01-01 10:11:00"),
            ("2024-2-9 1:2:3", "yyyy-M-d H:m:s", "2024-02-09 01:02:03"),
            ("29 Feb 2024", "dd MMM yyyy", "2024-02-29 00:00:00"),
            ("2024-02-29T10:11:12", "yyyy-MM-dd'T'HH:mm:ss", "2024-02-29 10:11:12"),
            ("2023-02-29 00:00:00", "yyyy-MM-dd HH:mm:ss", "2023-02-28 00:00:00"),
            ("2024-02-29 24:00:00", "yyyy-MM-dd HH:mm:ss", "2024-03-01 00:00:00"),
            ("24-2-9", "yy-M-d", "2024-02-09 00:00:00"),
            ("09 PM 2024", "hh a yyyy", "2024-01-01 21:00:00"),
            ("Thu 29 Feb 2024", "EEE dd MMM yyyy", "2024-02-29 00:00:00"),
            ("2024 060", "yyyy DDD", "2024-02-29 00:00:00"),
            ("2024-02-29T10:11:12+02:00", "yyyy-MM-dd'T'HH:mm:ssXXX", "2024-02-29 10:11:12"),
            ("2024-02-29 10:11", "yyyy-MM-dd[ HH:mm[:ss]]", "2024-02-29 10:11:00"),
            ("2024-02-29", "yyyy-MM-dd[ HH:mm[:ss]]", "2024-02-29 00:00:00"),
            ("+12024-02-29", "yyyy-MM-dd", "+12024-02-29 00:00:00"),
            ("Fri 29 Feb 2024", "EEE dd MMM yyyy", "NULL"),
            ("2024 60", "yyyy DDD", "NULL"),
            ("2024-13", "yyyy-MM", "NULL"),
            ("2024-02-29 25:00:00", "yyyy-MM-dd HH:mm:ss", "NULL"),
            ("2024-02-29 10:11:12 tail", "yyyy-MM-dd HH:mm:ss", "NULL"),
            ("12024-02-29", "yyyy-MM-dd", "NULL"),
            ("", "yyyy", "NULL"),
        ] {
            assert_eq!(show(Pattern::parse(pattern).unwrap().read(text)), expected, "{text} {pattern}");
        }
    }

    #[test]
    fn timestamps_as_jdbc_reads_them() {
        for (text, expected) in [
            ("2024-02-29 25:00:00", "2024-03-01 01:00:00"),
            (" 2024-2-31 1:2:3.5 ", "2024-03-02 01:02:03.500"),
            ("1999-9-10", "1999-09-10 00:00:00"),
            ("2024-02-29 10:11:12 tail", "NULL"),
            ("2024-02-29 10:11", "NULL"),
            ("24-02-29", "NULL"),
            ("2024-00-10", "NULL"),
            ("2024-01-01 00:00:00.", "NULL"),
        ] {
            assert_eq!(show(parse_sql_timestamp(text)), expected, "{text}");
        }
    }
}
