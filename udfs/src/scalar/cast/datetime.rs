//! Casts to dates and times.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Date32Array, Int64Array, StringArray};
use arrow::compute::cast as convert;
use arrow::datatypes::{DataType, Date32Type, Int64Type, TimeUnit};
use datafusion_common::Result;

use super::{Casting, arrow_cast, precision};
use crate::datetime::{LocalDateTime, LocalZone, MILLIS_PER_DAY, parse_date, parse_timestamp};
use crate::scalar::time::{Instants, session_zone};
use crate::timestamps::{TimestampType, Timestamps};

/// A wall-clock time in milliseconds and the nanoseconds beyond them, as an instant if it is seen in a zone. `None` beyond 64 bits.
fn millis_of(time: LocalDateTime, zone: Option<LocalZone>) -> Option<(i64, i64)> {
    let millis = time.to_millis()?;
    Some((zone.map_or(millis, |zone| zone.to_instant(millis)), time.nanos % 1_000_000))
}

/// Text as DATE, TIME, TIMESTAMP and, in the session's zone, TIMESTAMP_LTZ.
pub(super) fn from_text(from: &ArrayRef, casting: &Casting<'_>) -> Result<ArrayRef> {
    let texts = convert(from, &DataType::Utf8)?;
    let texts = texts.as_string::<i32>();
    if let Some(of) = TimestampType::of(casting.target) {
        let zone = of.is_instant.then(|| session_zone(casting.config)).transpose()?;
        let parse = |text: &str| {
            parse_timestamp(text).and_then(|time| millis_of(cut_digits(time, casting.to_digits), zone))
        };
        return timestamps(of, read(texts, casting, parse), casting);
    }
    match casting.target {
        DataType::Date32 => {
            let days = |text: &str| {
                parse_date(text.trim_matches(' ')).and_then(|date| i32::try_from(date.to_days()).ok())
            };
            Ok(Arc::new(read(texts, casting, days).collect::<Result<Date32Array>>()?))
        }
        other => {
            // a TIME is read with whole seconds whatever its precision
            let nanos = |text: &str| parse_time(text).map(|seconds| seconds * 1_000_000_000);
            let values = read(texts, casting, nanos).collect::<Result<Int64Array>>()?;
            let values = convert(&(Arc::new(values) as ArrayRef), &DataType::Time64(TimeUnit::Nanosecond))?;
            Ok(convert(&values, other)?)
        }
    }
}

/// A time with the digits of its fraction that a type has.
fn cut_digits(time: LocalDateTime, digits: Option<u32>) -> LocalDateTime {
    let unit = 10_i64.pow(9 - digits.unwrap_or(9).min(9));
    LocalDateTime { nanos: time.nanos / unit * unit, ..time }
}

fn read<'a, T>(
    texts: &'a StringArray,
    casting: &'a Casting<'a>,
    parse: impl Fn(&str) -> Option<T> + 'a,
) -> impl Iterator<Item = Result<Option<T>>> + 'a {
    texts.iter().map(move |text| {
        let Some(text) = text else { return Ok(None) };
        match parse(text) {
            Some(value) => Ok(Some(value)),
            None => casting.refuse(&text),
        }
    })
}

/// `H[:m[:s]][.f…]` in seconds of the day, with spaces around.
fn parse_time(text: &str) -> Option<i64> {
    let text = text.trim_matches(' ');
    let text = match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|byte| byte.is_ascii_digit()) => whole,
        Some(_) => return None,
        None => text,
    };
    let mut parts = text.split(':');
    let mut number = |most: i64| match parts.next() {
        None => Some(0),
        Some(part) if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) => {
            part.parse().ok().filter(|&number: &i64| number <= most)
        }
        Some(_) => None,
    };
    let (hours, minutes, seconds) = (number(23)?, number(59)?, number(59)?);
    parts.next().is_none().then_some(hours * 3600 + minutes * 60 + seconds)
}

/// An array of the times of rows, NULL or an error where one is beyond the type.
fn timestamps(
    of: TimestampType,
    rows: impl Iterator<Item = Result<Option<(i64, i64)>>>,
    casting: &Casting<'_>,
) -> Result<ArrayRef> {
    let beyond = |millis: i64| casting.refuse::<()>(&format_args!("a time {millis} ms from 1970")).map(drop);
    let times = of.collect(rows, beyond)?;
    // the target may name a zone of its own
    if times.data_type() == casting.target { Ok(times) } else { Ok(convert(&times, casting.target)?) }
}

/// Between TIMESTAMP, TIMESTAMP_LTZ, DATE and TIME. A TIMESTAMP_LTZ is seen in the session's zone.
pub(super) fn between(from: &ArrayRef, casting: &Casting<'_>) -> Result<ArrayRef> {
    match (TimestampType::of(from.data_type()), TimestampType::of(casting.target)) {
        (Some(source), Some(target)) => between_timestamps(from, source, target, casting),
        (Some(source), None) => from_timestamps(from, source, casting),
        (None, Some(target)) => to_timestamps(from, target, casting),
        (None, None) => arrow_cast(from, casting.target, casting.lenient),
    }
}

fn between_timestamps(
    from: &ArrayRef,
    source: TimestampType,
    target: TimestampType,
    casting: &Casting<'_>,
) -> Result<ArrayRef> {
    let zone = session_zone(casting.config)?;
    let times = Timestamps::new(from)?;
    let digits = casting.to_digits.unwrap_or(9);
    let row = |row: usize| {
        let (millis, nanos) = times.millis(row)?;
        let millis = match (source.is_instant, target.is_instant) {
            (true, false) => zone.to_local(millis),
            (false, true) => zone.to_instant(millis),
            _ => millis,
        };
        Some(precision::cut(millis, nanos, digits))
    };
    timestamps(target, (0..from.len()).map(|at| Ok(row(at))), casting)
}

/// The dates or times of a day of timestamps.
fn from_timestamps(from: &ArrayRef, source: TimestampType, casting: &Casting<'_>) -> Result<ArrayRef> {
    let instants = Instants::new(from, casting.config)?;
    let target = casting.target;
    match target {
        DataType::Date32 => {
            let day = |row: usize| match source.is_instant {
                true => Some(instants.local(row)?.days),
                // before 1970 toward 1970
                false => Some(instants.millis(row)?.0 / MILLIS_PER_DAY),
            };
            let day = |row: usize| i32::try_from(day(row)?).ok();
            Ok(Arc::new((0..from.len()).map(day).collect::<Date32Array>()))
        }
        DataType::Time32(_) | DataType::Time64(_) => {
            let nanos: Int64Array = (0..from.len()).map(|row| Some(instants.local(row)?.nanos)).collect();
            let times = convert(&(Arc::new(nanos) as ArrayRef), &DataType::Time64(TimeUnit::Nanosecond))?;
            Ok(convert(&times, target)?)
        }
        _ => arrow_cast(from, target, casting.lenient),
    }
}

/// Dates at midnight, and times of 1970-01-01.
fn to_timestamps(from: &ArrayRef, target: TimestampType, casting: &Casting<'_>) -> Result<ArrayRef> {
    let zone = session_zone(casting.config)?;
    let seen = |local: i64| if target.is_instant { zone.to_instant(local) } else { local };
    match from.data_type() {
        DataType::Date32 => {
            let midnight = |days: i32| (seen(i64::from(days) * MILLIS_PER_DAY), 0);
            let days = from.as_primitive::<Date32Type>().iter();
            timestamps(target, days.map(|days| Ok(days.map(midnight))), casting)
        }
        DataType::Time32(_) | DataType::Time64(_) => {
            let nanos = convert(from, &DataType::Time64(TimeUnit::Nanosecond))?;
            let nanos = convert(&nanos, &DataType::Int64)?;
            let time = |nanos: i64| (seen(nanos / 1_000_000), nanos % 1_000_000);
            let rows = nanos.as_primitive::<Int64Type>().iter().map(|nanos| Ok(nanos.map(time)));
            timestamps(target, rows, casting)
        }
        _ => arrow_cast(from, casting.target, casting.lenient),
    }
}
