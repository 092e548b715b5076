//! Casts to dates and times.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Date32Array, Int64Array, StringArray};
use arrow::compute::cast as convert;
use arrow::datatypes::{DataType, Date32Type, TimeUnit};
use datafusion_common::{Result, exec_datafusion_err};

use super::super::instants::{Instants, session_zone};
use super::{Casting, arrow_cast};
use crate::datetime::{Date, LocalDateTime, LocalZone, MILLIS_PER_DAY, parse_timestamp};

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// A wall-clock time as a value of a unit, seen in a zone if there is one. `None` beyond 64 bits.
fn value(time: LocalDateTime, unit: TimeUnit, zone: Option<LocalZone>) -> Option<i64> {
    let millis = time.to_millis()?;
    let millis = zone.map_or(millis, |zone| zone.to_instant(millis));
    let finer = time.nanos % 1_000_000;
    match unit {
        TimeUnit::Second => Some(millis.div_euclid(1_000)),
        TimeUnit::Millisecond => Some(millis),
        TimeUnit::Microsecond => millis.checked_mul(1_000)?.checked_add(finer / 1_000),
        TimeUnit::Nanosecond => millis.checked_mul(1_000_000)?.checked_add(finer),
    }
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
            let days = |text: &str| parse_date(text).and_then(|date| i32::try_from(date.to_days()).ok());
            Ok(Arc::new(read(texts, casting, days).collect::<Result<Date32Array>>()?))
        }
        DataType::Timestamp(unit, zone) => {
            let zone = zone.is_some().then(|| session_zone(casting.config)).transpose()?;
            let parse = |text: &str| {
                parse_timestamp(text.trim_matches(' ')).and_then(|time| value(time, *unit, zone))
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

/// `y-M-d`, or a part of it, with spaces around.
fn parse_date(text: &str) -> Option<Date> {
    let mut parts = text.trim_matches(' ').split('-');
    let mut number = |least: i64, most: i64| match parts.next() {
        None => Some(least),
        Some(part)
            if !part.is_empty() && part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            part.parse().ok().filter(|number| (least..=most).contains(number))
        }
        Some(_) => None,
    };
    let (year, month, day) = (number(0, 9999)?, number(1, 12)?, number(1, 31)?);
    let date = Date { year, month, day };
    (parts.next().is_none() && day <= date.length_of_month()).then_some(date)
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

/// Between TIMESTAMP, TIMESTAMP_LTZ, DATE and TIME where the session's zone matters.
pub(super) fn between(from: &ArrayRef, casting: &Casting<'_>) -> Result<ArrayRef> {
    let zone = session_zone(casting.config)?;
    match (from.data_type(), casting.target) {
        (DataType::Timestamp(_, Some(_)), DataType::Timestamp(unit, None)) => {
            let instants = Instants::new(from, casting.config)?;
            let values: Int64Array = (0..from.len())
                .map(|row| instants.local(row).and_then(|time| value(time, *unit, None)))
                .collect();
            timestamps(values, casting.target)
        }
        (DataType::Timestamp(_, None), DataType::Timestamp(unit, Some(_))) => {
            let instants = Instants::new(from, casting.config)?;
            let values: Int64Array = (0..from.len())
                .map(|row| instants.local(row).and_then(|time| value(time, *unit, Some(zone))))
                .collect();
            timestamps(values, casting.target)
        }
        (DataType::Timestamp(unit, Some(_)), target) => {
            let local = DataType::Timestamp(*unit, None);
            let local = between(from, &casting.to(&local))?;
            arrow_cast(&local, target, casting.lenient)
        }
        (DataType::Date32, DataType::Timestamp(unit, Some(_))) => {
            let days = from.as_primitive::<Date32Type>();
            let value = |days: i32| {
                let instant = zone.to_instant(i64::from(days) * MILLIS_PER_DAY);
                let seconds = instant.div_euclid(1_000);
                seconds
                    .checked_mul(per_second(*unit))
                    .ok_or_else(|| exec_datafusion_err!("a DATE is out of range of {}", casting.target))
            };
            let values = days.iter().map(|day| day.map(value).transpose()).collect::<Result<Int64Array>>()?;
            timestamps(values, casting.target)
        }
        (_, target) => arrow_cast(from, target, casting.lenient),
    }
}
