//! Casts to text, and the lengths of text and bytes.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BinaryBuilder, StringArray, StringBuilder};
use arrow::compute::cast as convert;
use arrow::datatypes::{DataType, Field, Float32Type, Float64Type, IntervalMonthDayNanoType};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion_common::Result;

use super::super::text_number::{write_f32, write_f64};
use super::{Casting, is_binary, is_text};
use crate::datetime::write_date_time;
use crate::scalar::interval::{is_interval, write_interval};
use crate::scalar::text::utf16;
use crate::scalar::time::Instants;
use crate::timestamps::TimestampType;
use crate::types::FLINK_TYPE;

/// The `n` of a CHAR(n), VARCHAR(n), BINARY(n) or VARBINARY(n), and whether shorter values are padded.
pub(super) fn length(field: &Field) -> Option<(usize, bool)> {
    let name = field.metadata().get(FLINK_TYPE)?;
    let (name, rest) = name.split_once('(')?;
    let length = rest.split_once(')')?.0.parse().ok()?;
    match name {
        "CHAR" | "BINARY" => Some((length, true)),
        "VARCHAR" | "VARBINARY" => Some((length, false)),
        _ => None,
    }
}

/// Text and bytes cut and padded to the length of a type, which counts characters or bytes. As in Flink what was no
/// text counts in the units of Java's `String`, of which a character beyond the basic plane is two.
pub(super) fn of_length(values: ArrayRef, from: &DataType, target: &Field) -> Result<ArrayRef> {
    let Some((length, padded)) = length(target) else { return Ok(values) };
    if is_binary(target.data_type()) {
        let bytes = convert(&values, &DataType::Binary)?;
        return Ok(Arc::new(bytes_of_length(bytes.as_binary::<i32>(), length, padded)));
    }
    if !is_text(target.data_type()) {
        return Ok(values);
    }
    let texts = convert(&values, &DataType::Utf8)?;
    let texts = texts.as_string::<i32>();
    let in_characters = is_text(from);
    let count = |text: &str| if in_characters { text.chars().count() } else { utf16::length(text) };
    let fits = |text: &str| {
        let count = count(text);
        count == length || count < length && !padded
    };
    if texts.iter().flatten().all(fits) {
        return Ok(values);
    }
    let mut result = StringBuilder::with_capacity(texts.len(), texts.value_data().len());
    let mut kept = String::new();
    for text in texts {
        let Some(text) = text else {
            result.append_null();
            continue;
        };
        kept.clear();
        if in_characters {
            let end = text.char_indices().nth(length).map_or(text.len(), |(end, _)| end);
            kept.push_str(&text[..end]);
        } else {
            utf16::push_slice(text, 0, length, &mut kept);
        }
        if padded {
            let missing = length - count(&kept);
            kept.extend(std::iter::repeat_n(' ', missing));
        }
        result.append_value(&kept);
    }
    Ok(Arc::new(result.finish()))
}

fn bytes_of_length(values: &BinaryArray, length: usize, padded: bool) -> BinaryArray {
    let mut result = BinaryBuilder::with_capacity(values.len(), values.value_data().len());
    let mut buffer = vec![];
    for bytes in values {
        let Some(bytes) = bytes else {
            result.append_null();
            continue;
        };
        buffer.clear();
        buffer.extend_from_slice(&bytes[..bytes.len().min(length)]);
        if padded {
            buffer.resize(length, 0);
        }
        result.append_value(&buffer);
    }
    result.finish()
}

/// Any type as text.
pub(super) fn from_any(from: &ArrayRef, casting: &Casting<'_>) -> Result<ArrayRef> {
    Ok(Arc::new(texts(from, casting)?))
}

/// Texts of rows that `write` appends to a buffer.
fn rows(from: &ArrayRef, mut write: impl FnMut(usize, &mut String) -> Result<()>) -> Result<StringArray> {
    let mut result = StringBuilder::with_capacity(from.len(), from.len() * 12);
    let mut text = String::new();
    let nulls = from.logical_nulls();
    for row in 0..from.len() {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            result.append_null();
            continue;
        }
        text.clear();
        write(row, &mut text)?;
        result.append_value(&text);
    }
    Ok(result.finish())
}

fn texts(from: &ArrayRef, casting: &Casting<'_>) -> Result<StringArray> {
    if let Some(of) = TimestampType::of(from.data_type()) {
        let digits = casting.from_digits.map_or(of.digits().into(), |digits| digits as usize);
        let instants = Instants::new(from, casting.config)?;
        return rows(from, |row, text| {
            if let Some(time) = instants.local(row) {
                write_date_time(time, ' ', digits, text);
            }
            Ok(())
        });
    }
    match from.data_type() {
        source if is_text(source) => Ok(convert(from, &DataType::Utf8)?.as_string::<i32>().clone()),
        DataType::Boolean => {
            let values = from.as_boolean();
            rows(from, |row, text| {
                text.push_str(if values.value(row) { "TRUE" } else { "FALSE" });
                Ok(())
            })
        }
        DataType::Float32 => {
            let values = from.as_primitive::<Float32Type>();
            rows(from, |row, text| {
                write_f32(values.value(row), text);
                Ok(())
            })
        }
        DataType::Float64 => {
            let values = from.as_primitive::<Float64Type>();
            rows(from, |row, text| {
                write_f64(values.value(row), text);
                Ok(())
            })
        }
        source if is_binary(source) => {
            let values = convert(from, &DataType::Binary)?;
            let values = values.as_binary::<i32>();
            rows(from, |row, text| {
                text.push_str(&String::from_utf8_lossy(values.value(row)));
                Ok(())
            })
        }
        source if is_interval(source) => {
            let values = from.as_primitive::<IntervalMonthDayNanoType>();
            rows(from, |row, text| {
                write_interval(values.value(row), casting.of_months, text);
                Ok(())
            })
        }
        DataType::List(_) => {
            let lists = from.as_list::<i32>();
            let items = texts(lists.values(), casting)?;
            let offsets = lists.value_offsets();
            rows(from, |row, text| {
                let items = (offsets[row] as usize..offsets[row + 1] as usize)
                    .map(|item| items.is_valid(item).then(|| items.value(item)));
                write_members(text, '[', items, ']');
                Ok(())
            })
        }
        DataType::Struct(_) => {
            let fields = from.as_struct().columns();
            let fields: Vec<_> = fields.iter().map(|field| texts(field, casting)).collect::<Result<_>>()?;
            rows(from, |row, text| {
                let members = fields.iter().map(|field| field.is_valid(row).then(|| field.value(row)));
                write_members(text, '(', members, ')');
                Ok(())
            })
        }
        DataType::Map(_, _) => {
            let maps = from.as_map();
            let (keys, values) = (texts(maps.keys(), casting)?, texts(maps.values(), casting)?);
            let offsets = maps.value_offsets();
            rows(from, |row, text| {
                text.push('{');
                let start = offsets[row] as usize;
                for entry in start..offsets[row + 1] as usize {
                    if entry > start {
                        text.push_str(", ");
                    }
                    text.push_str(keys.value(entry));
                    text.push('=');
                    text.push_str(if values.is_valid(entry) { values.value(entry) } else { "NULL" });
                }
                text.push('}');
                Ok(())
            })
        }
        _ => {
            let options = FormatOptions::default();
            let formatter = ArrayFormatter::try_new(from, &options)?;
            rows(from, |row, text| write!(text, "{}", formatter.value(row)).map_err(arrow_error))
        }
    }
}

fn arrow_error(error: std::fmt::Error) -> datafusion_common::DataFusionError {
    datafusion_common::exec_datafusion_err!("a value has no text: {error}")
}

fn write_members<'a>(
    text: &mut String,
    open: char,
    members: impl Iterator<Item = Option<&'a str>>,
    close: char,
) {
    text.push(open);
    for (index, member) in members.enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        text.push_str(member.unwrap_or("NULL"));
    }
    text.push(close);
}
