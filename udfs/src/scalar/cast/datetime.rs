//! Casts to dates and times.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Date32Array, Int64Array, StringArray};
use arrow::compute::cast as convert;
use arrow::datatypes::{DataType, Date32Type, Int64Type, TimeUnit};
use datafusion_common::Result;

use super::{Casting, arrow_cast, precision};
use crate::datetime::{LocalDateTime, LocalZone, MILLIS_PER_DAY, parse_date, parse_timestamp};
use crate::scalar::time::{Instants, session_zone};

/// Milliseconds and the nanoseconds beyond them as a value of a unit. `None` beyond 64 bits.
fn of_unit(millis: i64, nanos: i64, unit: TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Second => Some(millis.div_euclid(1_000)),
        TimeUnit::Millisecond => Some(millis),
        TimeUnit::Microsecond => millis.checked_mul(1_000)?.checked_add(nanos / 1_000),
        TimeUnit::Nanosecond => millis.checked_mul(1_000_000)?.checked_add(nanos),
    }
}

/// A wall-clock time as a value of a unit, seen in a zone if there is one. `None` beyond 64 bits.
fn value(time: LocalDateTime, unit: TimeUnit, zone: Option<LocalZone>) -> Option<i64> {
    let millis = time.to_millis()?;
    let millis = zone.map_or(millis, |zone| zone.to_instant(millis));
    of_unit(millis, time.nanos % 1_000_000, unit)
}

/// Integers as timestamps of this type.
fn timestamps(values: Int64Array, target: &DataType) -> Result<ArrayRef> {
    Ok(convert(&(Arc::new(values) as ArrayRef), target)?)
}

/// Text as DATE, TIME, TIMESTAMP and, in the session's zone, TIMESTAMP_LTZ.
pub(super) fn from_text(from: &ArrayRef, casting: &Casting<'_>) -> Result<ArrayRef> {
    let texts = convert(from, &DataType::Utf8)?;
    let texts = texts.as_string::<i32>();
    match casting.target {
        DataType::Date32 => {
            let days = |text: &str| {
                parse_date(text.trim_matches(' ')).and_then(|date| i32::try_from(date.to_days()).ok())
            };
            Ok(Arc::new(read(texts, casting, days).collect::<Result<Date32Array>>()?))
        }
        DataType::Timestamp(unit, zone) => {
            let zone = zone.is_some().then(|| session_zone(casting.config)).transpose()?;
            let parse = |text: &str| {
                parse_timestamp(text).and_then(|time| value(cut_digits(time, casting.to_digits), *unit, zone))
            };
            timestamps(read(texts, casting, parse).collect::<Result<Int64Array>>()?, casting.target)
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

/// Between TIMESTAMP, TIMESTAMP_LTZ, DATE and TIME. A TIMESTAMP_LTZ is seen in the session's zone.
pub(super) fn between(from: &ArrayRef, casting: &Casting<'_>) -> Result<ArrayRef> {
    let zone = session_zone(casting.config)?;
    match (from.data_type(), casting.target) {
        (DataType::Timestamp(_, from_zone), DataType::Timestamp(unit, to_zone)) => {
            let instants = Instants::new(from, casting.config)?;
            let digits = casting.to_digits.unwrap_or(9);
            let row = |row: usize| {
                let Some((millis, nanos)) = instants.millis(row) else { return Ok(None) };
                let millis = match (from_zone, to_zone) {
                    (Some(_), None) => zone.to_local(millis),
                    (None, Some(_)) => zone.to_instant(millis),
                    _ => millis,
                };
                let (millis, nanos) = precision::cut(millis, nanos, digits);
                match of_unit(millis, nanos, *unit) {
                    Some(value) => Ok(Some(value)),
                    None => casting.refuse(&format_args!("a time {millis} ms from 1970")),
                }
            };
            timestamps((0..from.len()).map(row).collect::<Result<Int64Array>>()?, casting.target)
        }
        (DataType::Timestamp(_, None), DataType::Date32) => {
            let instants = Instants::new(from, casting.config)?;
            // before 1970 toward 1970
            let day = |row: usize| i32::try_from(instants.millis(row)?.0 / MILLIS_PER_DAY).ok();
            Ok(Arc::new((0..from.len()).map(day).collect::<Date32Array>()))
        }
        (DataType::Timestamp(_, Some(_)), DataType::Date32) => {
            let instants = Instants::new(from, casting.config)?;
            let day = |row: usize| i32::try_from(instants.local(row)?.days).ok();
            Ok(Arc::new((0..from.len()).map(day).collect::<Date32Array>()))
        }
        (DataType::Timestamp(_, _), target @ (DataType::Time32(_) | DataType::Time64(_))) => {
            let instants = Instants::new(from, casting.config)?;
            let nanos: Int64Array = (0..from.len()).map(|row| Some(instants.local(row)?.nanos)).collect();
            let times = convert(&(Arc::new(nanos) as ArrayRef), &DataType::Time64(TimeUnit::Nanosecond))?;
            Ok(convert(&times, target)?)
        }
        (DataType::Date32, DataType::Timestamp(unit, to_zone)) => {
            let days = from.as_primitive::<Date32Type>();
            let value = |days: i32| {
                let local = i64::from(days) * MILLIS_PER_DAY;
                let millis = if to_zone.is_some() { zone.to_instant(local) } else { local };
                match of_unit(millis, 0, *unit) {
                    Some(value) => Ok(Some(value)),
                    None => casting.refuse(&format_args!("the day {days} from 1970")),
                }
            };
            let values =
                days.iter().map(|day| day.map_or(Ok(None), value)).collect::<Result<Int64Array>>()?;
            timestamps(values, casting.target)
        }
        (DataType::Time32(_) | DataType::Time64(_), DataType::Timestamp(unit, to_zone)) => {
            let nanos = convert(from, &DataType::Time64(TimeUnit::Nanosecond))?;
            let nanos = convert(&nanos, &DataType::Int64)?;
            let value = |nanos: i64| {
                let local = nanos / 1_000_000;
                let millis = if to_zone.is_some() { zone.to_instant(local) } else { local };
                of_unit(millis, nanos % 1_000_000, *unit)
            };
            let values: Int64Array =
                nanos.as_primitive::<Int64Type>().iter().map(|nanos| nanos.and_then(value)).collect();
            timestamps(values, casting.target)
        }
        (_, target) => arrow_cast(from, target, casting.lenient),
    }
}
