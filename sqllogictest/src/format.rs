//! Values as text, the way the expected answers in `.slt` files are written.
//!
//! | type | text |
//! |---|---|
//! | NULL; the empty string | `NULL`; `(empty)` |
//! | BOOLEAN, integers, strings | as they are |
//! | FLOAT, DOUBLE | the shortest digits that round-trip, without exponent: `10`, `0.1`, `NaN`, `-Infinity` |
//! | DECIMAL | all digits of its scale: `1.50` |
//! | BINARY | lower-case hex |
//! | DATE | `2024-01-31` |
//! | TIME | `12:30:00`, then 0, 3, 6 or 9 digits of fraction: the fewest that lose nothing |
//! | TIMESTAMP | `2024-01-31T12:30:00`, fraction as for TIME |
//! | TIMESTAMP_LTZ (a timestamp with a zone) | the instant in UTC, `Z` behind it |
//! | INTERVAL | ISO 8601 as `java.time` writes it: `P1Y2M`, `PT26H0.5S` |
//! | ARRAY, ROW | `[1, 2]`, `(1, x)` |
//! | MAP, MULTISET | `{a: 1, b: 2}`, sorted as text |

use std::fmt::{Display, LowerExp, LowerHex, Write};
use std::str::FromStr;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, GenericListArray, OffsetSizeTrait, RecordBatch,
};
use arrow::datatypes::*;
use chrono::{Datelike, NaiveDate};
use datafusion::common::{Result, exec_datafusion_err, not_impl_err};
use datafusion_streaming::timestamps::{TimestampType, is_wide_timestamp};
use datafusion_streaming_udfs::floats::{java_digits, push_plain};

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// The rows of a batch as text: the values of each separated by single spaces.
///
/// An error for a column of a type that Flink does not have and that has no text here.
pub fn rows(batch: &RecordBatch) -> Result<Vec<String>> {
    (0..batch.num_rows())
        .map(|row| {
            let mut text = String::new();
            write_separated(&mut text, batch.columns(), row, " ")?;
            Ok(text)
        })
        .collect()
}

/// One value as text.
pub fn cell(array: &dyn Array, row: usize) -> Result<String> {
    let mut text = String::new();
    write_cell(&mut text, array, row)?;
    Ok(text)
}

/// The values that `columns` have in `row`.
fn write_separated(out: &mut String, columns: &[ArrayRef], row: usize, separator: &str) -> Result<()> {
    for (index, column) in columns.iter().enumerate() {
        if index > 0 {
            out.push_str(separator);
        }
        write_cell(out, column, row)?;
    }
    Ok(())
}

fn write_cell(out: &mut String, array: &dyn Array, row: usize) -> Result<()> {
    if array.is_null(row) {
        out.push_str("NULL");
        return Ok(());
    }
    match array.data_type() {
        DataType::Null => out.push_str("NULL"),
        DataType::Boolean => push(out, array.as_boolean().value(row)),
        DataType::Int8 => push(out, value::<Int8Type>(array, row)),
        DataType::Int16 => push(out, value::<Int16Type>(array, row)),
        DataType::Int32 => push(out, value::<Int32Type>(array, row)),
        DataType::Int64 => push(out, value::<Int64Type>(array, row)),
        DataType::UInt8 => push(out, value::<UInt8Type>(array, row)),
        DataType::UInt16 => push(out, value::<UInt16Type>(array, row)),
        DataType::UInt32 => push(out, value::<UInt32Type>(array, row)),
        DataType::UInt64 => push(out, value::<UInt64Type>(array, row)),
        // The shortest digits of the narrow type, which are not those of the same value as f64
        DataType::Float32 => {
            let number = value::<Float32Type>(array, row);
            write_float(out, number.into(), number)
        }
        DataType::Float64 => {
            let number = value::<Float64Type>(array, row);
            write_float(out, number, number)
        }
        DataType::Decimal32(_, _) => {
            out.push_str(&array.as_primitive::<Decimal32Type>().value_as_string(row))
        }
        DataType::Decimal64(_, _) => {
            out.push_str(&array.as_primitive::<Decimal64Type>().value_as_string(row))
        }
        wide if is_wide_timestamp(wide) => {
            write_timestamp(out, value::<Decimal128Type>(array, row))?;
            if TimestampType::of(wide).is_some_and(|of| of.is_instant) {
                out.push('Z');
            }
        }
        DataType::Decimal128(_, _) => {
            out.push_str(&array.as_primitive::<Decimal128Type>().value_as_string(row))
        }
        DataType::Decimal256(_, _) => {
            out.push_str(&array.as_primitive::<Decimal256Type>().value_as_string(row))
        }
        DataType::Utf8 => write_string(out, array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => write_string(out, array.as_string::<i64>().value(row)),
        DataType::Utf8View => write_string(out, array.as_string_view().value(row)),
        DataType::Binary => write_hex(out, array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => write_hex(out, array.as_binary::<i64>().value(row)),
        DataType::BinaryView => write_hex(out, array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => write_hex(out, array.as_fixed_size_binary().value(row)),
        DataType::Date32 => write_date(out, value::<Date32Type>(array, row).into())?,
        DataType::Date64 => {
            write_date(out, value::<Date64Type>(array, row).div_euclid(SECONDS_PER_DAY * 1000))?
        }
        DataType::Time32(unit) | DataType::Time64(unit) => {
            write_time(out, i128::from(integer(array, row)?) * nanos_per(*unit))
        }
        DataType::Timestamp(unit, zone) => {
            write_timestamp(out, i128::from(integer(array, row)?) * nanos_per(*unit))?;
            if zone.is_some() {
                out.push('Z');
            }
        }
        DataType::Duration(unit) => write_duration(out, i128::from(integer(array, row)?) * nanos_per(*unit)),
        DataType::Interval(unit) => write_interval(out, interval(array, row, *unit)),
        DataType::List(_) => write_list(out, &list_values::<i32>(array, row))?,
        DataType::LargeList(_) => write_list(out, &list_values::<i64>(array, row))?,
        DataType::FixedSizeList(_, _) => write_list(out, &array.as_fixed_size_list().value(row))?,
        DataType::ListView(_) => write_list(out, &array.as_list_view::<i32>().value(row))?,
        DataType::LargeListView(_) => write_list(out, &array.as_list_view::<i64>().value(row))?,
        DataType::Struct(_) => {
            out.push('(');
            write_separated(out, array.as_struct().columns(), row, ", ")?;
            out.push(')');
        }
        DataType::Map(_, _) => write_map(out, array, row)?,
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            write_cell(out, dictionary.values().as_ref(), dictionary.normalized_keys()[row])?
        }
        other => return not_impl_err!("the text of a value of type {other}"),
    }
    Ok(())
}

fn push(out: &mut String, value: impl Display) {
    // Writing to a String does not fail
    let _ = write!(out, "{value}");
}

fn value<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

fn write_string(out: &mut String, text: &str) {
    out.push_str(if text.is_empty() { "(empty)" } else { text });
}

fn write_hex(out: &mut String, bytes: &[u8]) {
    fn byte(out: &mut String, byte: impl LowerHex) {
        let _ = write!(out, "{byte:02x}");
    }
    bytes.iter().for_each(|b| byte(out, b));
}

/// The digits of Java without exponent, no sign of zero, and Java's names of what is not a number.
fn write_float<T: LowerExp + FromStr + PartialEq + Copy>(out: &mut String, number: f64, digits: T) {
    if number.is_nan() {
        return out.push_str("NaN");
    }
    if number.is_infinite() {
        out.push_str(if number > 0.0 { "Infinity" } else { "-Infinity" });
    } else if number == 0.0 {
        out.push('0');
    } else {
        push_plain(&java_digits(digits), out);
    }
}

/// The integer under a time, timestamp or duration of any unit.
fn integer(array: &dyn Array, row: usize) -> Result<i64> {
    use arrow::datatypes::TimeUnit::*;
    Ok(match array.data_type() {
        DataType::Time32(Second) => value::<Time32SecondType>(array, row).into(),
        DataType::Time32(_) => value::<Time32MillisecondType>(array, row).into(),
        DataType::Time64(Microsecond) => value::<Time64MicrosecondType>(array, row),
        DataType::Time64(_) => value::<Time64NanosecondType>(array, row),
        DataType::Timestamp(Second, _) => value::<TimestampSecondType>(array, row),
        DataType::Timestamp(Millisecond, _) => value::<TimestampMillisecondType>(array, row),
        DataType::Timestamp(Microsecond, _) => value::<TimestampMicrosecondType>(array, row),
        DataType::Timestamp(Nanosecond, _) => value::<TimestampNanosecondType>(array, row),
        DataType::Duration(Second) => value::<DurationSecondType>(array, row),
        DataType::Duration(Millisecond) => value::<DurationMillisecondType>(array, row),
        DataType::Duration(Microsecond) => value::<DurationMicrosecondType>(array, row),
        DataType::Duration(Nanosecond) => value::<DurationNanosecondType>(array, row),
        other => return not_impl_err!("{other} as a number of time units"),
    })
}

fn nanos_per(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// `days` since 1970-01-01, in the proleptic Gregorian calendar, of any year.
fn write_date(out: &mut String, days: i64) -> Result<()> {
    // The calendar repeats every 400 years; chrono knows the first of these periods
    const YEARS: i64 = 400;
    const DAYS: i64 = 146_097;
    let date = i32::try_from(days.rem_euclid(DAYS))
        .ok()
        .and_then(NaiveDate::from_epoch_days)
        .ok_or_else(|| exec_datafusion_err!("no date {days} days after 1970-01-01"))?;
    let year = i64::from(date.year()) + YEARS * days.div_euclid(DAYS);
    match year {
        0..=9999 => push(out, format_args!("{year:04}")),
        _ => push(out, format_args!("{year:+05}")),
    }
    push(out, format_args!("-{:02}-{:02}", date.month(), date.day()));
    Ok(())
}

/// `nanos` since midnight.
fn write_time(out: &mut String, nanos: i128) {
    let seconds = nanos.div_euclid(NANOS_PER_SECOND.into());
    push(out, format_args!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60));
    write_fraction(out, nanos.rem_euclid(NANOS_PER_SECOND.into()));
}

/// `nanos` since 1970-01-01T00:00:00.
fn write_timestamp(out: &mut String, nanos: i128) -> Result<()> {
    let day = i128::from(SECONDS_PER_DAY * NANOS_PER_SECOND);
    let days = i64::try_from(nanos.div_euclid(day))
        .map_err(|_| exec_datafusion_err!("no date {nanos} ns after 1970-01-01"))?;
    write_date(out, days)?;
    out.push('T');
    write_time(out, nanos.rem_euclid(day));
    Ok(())
}

/// Three, six or nine digits, the fewest that lose nothing; none for zero.
fn write_fraction(out: &mut String, nanos: i128) {
    match nanos {
        0 => {}
        _ if nanos % 1_000_000 == 0 => push(out, format_args!(".{:03}", nanos / 1_000_000)),
        _ if nanos % 1_000 == 0 => push(out, format_args!(".{:06}", nanos / 1_000)),
        _ => push(out, format_args!(".{nanos:09}")),
    }
}

/// Months and nanoseconds; days count as 24 hours, as Flink's day-time intervals do.
fn interval(array: &dyn Array, row: usize, unit: IntervalUnit) -> (i32, i128) {
    const DAY: i128 = (SECONDS_PER_DAY * NANOS_PER_SECOND) as i128;
    match unit {
        IntervalUnit::YearMonth => (value::<IntervalYearMonthType>(array, row), 0),
        IntervalUnit::DayTime => {
            let interval = value::<IntervalDayTimeType>(array, row);
            (0, i128::from(interval.days) * DAY + i128::from(interval.milliseconds) * 1_000_000)
        }
        IntervalUnit::MonthDayNano => {
            let interval = value::<IntervalMonthDayNanoType>(array, row);
            (interval.months, i128::from(interval.days) * DAY + i128::from(interval.nanoseconds))
        }
    }
}

fn write_interval(out: &mut String, (months, nanos): (i32, i128)) {
    if months == 0 {
        return write_duration(out, nanos);
    }
    out.push('P');
    for (number, letter) in [(months / 12, 'Y'), (months % 12, 'M')] {
        if number != 0 {
            push(out, format_args!("{number}{letter}"));
        }
    }
    if nanos != 0 {
        out.push(' ');
        write_duration(out, nanos);
    }
}

/// Hours, minutes and seconds that all have the sign of the whole; hours are not carried to days.
fn write_duration(out: &mut String, nanos: i128) {
    let second = i128::from(NANOS_PER_SECOND);
    let (hours, minutes, rest) = (nanos / (3600 * second), nanos / (60 * second) % 60, nanos % (60 * second));
    out.push_str("PT");
    for (number, letter) in [(hours, 'H'), (minutes, 'M')] {
        if number != 0 {
            push(out, format_args!("{number}{letter}"));
        }
    }
    if rest != 0 || nanos == 0 {
        let sign = if rest < 0 { "-" } else { "" };
        let mut text = format!("{sign}{}.{:09}", rest.abs() / second, rest.abs() % second);
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
        push(out, format_args!("{text}S"));
    }
}

fn list_values<O: OffsetSizeTrait>(array: &dyn Array, row: usize) -> ArrayRef {
    let list: &GenericListArray<O> = array.as_list();
    list.value(row)
}

fn write_list(out: &mut String, values: &ArrayRef) -> Result<()> {
    out.push('[');
    for row in 0..values.len() {
        if row > 0 {
            out.push_str(", ");
        }
        write_cell(out, values, row)?;
    }
    out.push(']');
    Ok(())
}

fn write_map(out: &mut String, array: &dyn Array, row: usize) -> Result<()> {
    let entries = array.as_map().value(row);
    let (keys, values) = (entries.column(0), entries.column(1));
    let mut texts = (0..entries.len())
        .map(|entry| Ok(format!("{}: {}", cell(keys, entry)?, cell(values, entry)?)))
        .collect::<Result<Vec<_>>>()?;
    texts.sort();
    push(out, format_args!("{{{}}}", texts.join(", ")));
    Ok(())
}

#[cfg(test)]
mod tests;
