//! Values as text: what the encoders have in common.

use std::io::Write;

use arrow::array::{Array, ArrowPrimitiveType, AsArray, StringArray};
use arrow::datatypes::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use datafusion::common::Result;
use datafusion_streaming_udfs::timestamps::{TimestampType, is_wide_timestamp};

use super::number::{write_decimal, write_float};
use super::time::{TimestampStandard, write_date, write_time, write_timestamp, write_wide_timestamp};

/// Writes the value of a row.
pub(super) type CellWriter<'a> = Box<dyn Fn(usize, &mut Vec<u8>) -> Result<()> + 'a>;

/// How a type is written: as a literal, or as text.
pub(super) enum Cell<'a> {
    /// A number or a Boolean.
    Literal(CellWriter<'a>),
    /// A DOUBLE or FLOAT, which may be `NaN` or `Infinity`, and for each row whether it is a number.
    Float(CellWriter<'a>, Box<dyn Fn(usize) -> bool + 'a>),
    /// Text of a form of its own, without quotes, backslashes and control characters.
    Text(CellWriter<'a>),
    /// Any text.
    String(&'a StringArray),
}

/// How the values of an array, where they are not NULL, are written; `None` for nested types and those that
/// Flink does not have.
pub(super) fn scalar_cell<'a>(
    array: &'a dyn Array,
    standard: TimestampStandard,
    plain_decimals: bool,
) -> Option<Cell<'a>> {
    use TimeUnit::*;
    Some(match array.data_type() {
        DataType::Boolean => {
            let array = array.as_boolean();
            literal(move |row, out| {
                out.extend_from_slice(if array.value(row) { b"true" } else { b"false" });
                Ok(())
            })
        }
        DataType::Int8 => integers::<Int8Type>(array),
        DataType::Int16 => integers::<Int16Type>(array),
        DataType::Int32 => integers::<Int32Type>(array),
        DataType::Int64 => integers::<Int64Type>(array),
        DataType::Float32 => {
            let array = array.as_primitive::<Float32Type>();
            let write = move |row: usize, out: &mut Vec<u8>| {
                write_float(array.value(row), out);
                Ok(())
            };
            Cell::Float(Box::new(write), Box::new(|row| array.value(row).is_finite()))
        }
        DataType::Float64 => {
            let array = array.as_primitive::<Float64Type>();
            let write = move |row: usize, out: &mut Vec<u8>| {
                write_float(array.value(row), out);
                Ok(())
            };
            Cell::Float(Box::new(write), Box::new(|row| array.value(row).is_finite()))
        }
        wide if is_wide_timestamp(wide) => wide_timestamps(array, standard),
        DataType::Decimal128(_, scale) => {
            let (array, scale) = (array.as_primitive::<Decimal128Type>(), *scale);
            literal(move |row, out| {
                write_decimal(array.value(row), scale, plain_decimals, out);
                Ok(())
            })
        }
        DataType::Utf8 => Cell::String(array.as_string::<i32>()),
        DataType::Binary => {
            let array = array.as_binary::<i32>();
            text(move |row, out| {
                out.extend_from_slice(BASE64.encode(array.value(row)).as_bytes());
                Ok(())
            })
        }
        DataType::Date32 => {
            let array = array.as_primitive::<Date32Type>();
            text(move |row, out| write_date(i64::from(array.value(row)), out))
        }
        DataType::Time32(Second) => times::<Time32SecondType>(array, Second),
        DataType::Time32(Millisecond) => times::<Time32MillisecondType>(array, Millisecond),
        DataType::Time64(Microsecond) => times::<Time64MicrosecondType>(array, Microsecond),
        DataType::Time64(Nanosecond) => times::<Time64NanosecondType>(array, Nanosecond),
        DataType::Timestamp(Second, _) => timestamps::<TimestampSecondType>(array, standard),
        DataType::Timestamp(Millisecond, _) => timestamps::<TimestampMillisecondType>(array, standard),
        DataType::Timestamp(Microsecond, _) => timestamps::<TimestampMicrosecondType>(array, standard),
        DataType::Timestamp(Nanosecond, _) => timestamps::<TimestampNanosecondType>(array, standard),
        _ => return None,
    })
}

fn literal<'a>(write: impl Fn(usize, &mut Vec<u8>) -> Result<()> + 'a) -> Cell<'a> {
    Cell::Literal(Box::new(write))
}

fn text<'a>(write: impl Fn(usize, &mut Vec<u8>) -> Result<()> + 'a) -> Cell<'a> {
    Cell::Text(Box::new(write))
}

fn integers<T>(array: &dyn Array) -> Cell<'_>
where
    T: ArrowPrimitiveType,
    T::Native: Into<i64>,
{
    let array = array.as_primitive::<T>();
    literal(move |row, out| {
        let value: i64 = array.value(row).into();
        write!(out, "{value}")?;
        Ok(())
    })
}

fn times<T>(array: &dyn Array, unit: TimeUnit) -> Cell<'_>
where
    T: ArrowPrimitiveType,
    T::Native: Into<i64>,
{
    let array = array.as_primitive::<T>();
    text(move |row, out| {
        write_time(array.value(row).into(), unit, out);
        Ok(())
    })
}

fn timestamps<T: ArrowTimestampType>(array: &dyn Array, standard: TimestampStandard) -> Cell<'_> {
    let zoned = matches!(array.data_type(), DataType::Timestamp(_, Some(_)));
    let array = array.as_primitive::<T>();
    text(move |row, out| write_timestamp(array.value(row), T::UNIT, standard, zoned, out))
}

fn wide_timestamps(array: &dyn Array, standard: TimestampStandard) -> Cell<'_> {
    let zoned = TimestampType::of(array.data_type()).is_some_and(|of| of.is_instant);
    let array = array.as_primitive::<Decimal128Type>();
    text(move |row, out| write_wide_timestamp(array.value(row), standard, zoned, out))
}
