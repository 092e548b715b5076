//! Values as JSON, as Flink's JSON functions write them.

use std::fmt::Write;

use arrow::array::{Array, ArrayRef, AsArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimeUnit,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion_common::{Result, exec_err, plan_err};

use crate::timestamps::{is_wide_timestamp, readable};
use crate::types::type_name;

/// Checks that values of a type can be written as JSON. DATE and TIME cannot.
pub fn check_type(data_type: &DataType) -> Result<()> {
    match data_type {
        DataType::Date32 | DataType::Date64 | DataType::Time32(_) | DataType::Time64(_) => {
            plan_err!("Type '{}' is not scalar or cannot be converted into JSON.", type_name(data_type))
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            check_type(item.data_type())
        }
        DataType::Struct(fields) => fields.iter().try_for_each(|field| check_type(field.data_type())),
        DataType::Map(entries, _) => check_type(entries.data_type()),
        _ => Ok(()),
    }
}

/// Each value of an array as JSON text. NULL stays NULL.
pub fn json_strings(array: &ArrayRef) -> Result<ArrayRef> {
    let mut strings = StringBuilder::with_capacity(array.len(), array.len() * 8);
    let mut text = String::new();
    for row in 0..array.len() {
        if array.is_null(row) {
            strings.append_null();
            continue;
        }
        text.clear();
        write_value(array, row, &mut text)?;
        strings.append_value(&text);
    }
    Ok(std::sync::Arc::new(strings.finish()))
}

/// Appends a text in quotes, with escapes where JSON demands them.
pub fn write_string(value: &str, text: &mut String) {
    text.push('"');
    for letter in value.chars() {
        match letter {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            // writing to a String does not fail
            control if control < ' ' => drop(write!(text, "\\u{:04X}", u32::from(control))),
            other => text.push(other),
        }
    }
    text.push('"');
}

/// Appends a value.
fn write_value(array: &ArrayRef, row: usize, text: &mut String) -> Result<()> {
    if array.is_null(row) {
        text.push_str("null");
        return Ok(());
    }
    if is_wide_timestamp(array.data_type()) {
        return write_wide_timestamp(array, row, text);
    }
    match array.data_type() {
        DataType::Boolean => text.push_str(if array.as_boolean().value(row) { "true" } else { "false" }),
        DataType::Int8 => text.push_str(&array.as_primitive::<Int8Type>().value(row).to_string()),
        DataType::Int16 => text.push_str(&array.as_primitive::<Int16Type>().value(row).to_string()),
        DataType::Int32 => text.push_str(&array.as_primitive::<Int32Type>().value(row).to_string()),
        DataType::Int64 => text.push_str(&array.as_primitive::<Int64Type>().value(row).to_string()),
        // a FLOAT shows the digits of its double
        DataType::Float32 => write_double(array.as_primitive::<Float32Type>().value(row).into(), text),
        DataType::Float64 => write_double(array.as_primitive::<Float64Type>().value(row), text),
        DataType::Decimal128(_, _) => {
            text.push_str(&array.as_primitive::<Decimal128Type>().value_as_string(row))
        }
        DataType::Utf8 => write_string(array.as_string::<i32>().value(row), text),
        DataType::LargeUtf8 => write_string(array.as_string::<i64>().value(row), text),
        DataType::Utf8View => write_string(array.as_string_view().value(row), text),
        DataType::Binary => write_base64(array.as_binary::<i32>().value(row), text),
        DataType::LargeBinary => write_base64(array.as_binary::<i64>().value(row), text),
        DataType::BinaryView => write_base64(array.as_binary_view().value(row), text),
        DataType::Timestamp(_, zone) => write_timestamp(array, row, zone.is_some(), text)?,
        DataType::List(_) => write_array(&array.as_list::<i32>().value(row), text)?,
        DataType::LargeList(_) => write_array(&array.as_list::<i64>().value(row), text)?,
        DataType::Struct(fields) => {
            text.push('{');
            for (index, (field, column)) in fields.iter().zip(array.as_struct().columns()).enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_string(field.name(), text);
                text.push(':');
                write_value(column, row, text)?;
            }
            text.push('}');
        }
        DataType::Map(_, _) => write_map(array, row, text)?,
        other => {
            return plan_err!("Type '{}' is not scalar or cannot be converted into JSON.", type_name(other));
        }
    }
    Ok(())
}

fn write_array(elements: &ArrayRef, text: &mut String) -> Result<()> {
    text.push('[');
    for index in 0..elements.len() {
        if index > 0 {
            text.push(',');
        }
        write_value(elements, index, text)?;
    }
    text.push(']');
    Ok(())
}

fn write_map(array: &ArrayRef, row: usize, text: &mut String) -> Result<()> {
    let map = array.as_map();
    let keys = cast(map.keys(), &DataType::Utf8)?;
    let keys = keys.as_string::<i32>();
    text.push('{');
    for (index, entry) in
        (map.value_offsets()[row] as usize..map.value_offsets()[row + 1] as usize).enumerate()
    {
        if index > 0 {
            text.push(',');
        }
        write_string(keys.value(entry), text);
        text.push(':');
        write_value(map.values(), entry, text)?;
    }
    text.push('}');
    Ok(())
}

/// Appends a double as Java's `new BigDecimal(Double.toString(value)).toString()`. NaN and infinities,
/// which JSON lacks, are texts.
fn write_double(value: f64, text: &mut String) {
    if !value.is_finite() {
        let name = if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        };
        return write_string(name, text);
    }
    // shortest digits d.ddd and an exponent of ten
    let shortest = format!("{:e}", value.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mut digits = mantissa.replace('.', "");
    // Java shows at least one digit behind the point, of numbers without an exponent all zeros before it
    let plain = (-3..7).contains(&exponent);
    let least = if plain && exponent >= 0 { exponent + 2 } else { 2 };
    while (digits.len() as i32) < least && (exponent >= 0 || !plain) {
        digits.push('0');
    }
    if value.is_sign_negative() && value != 0.0 {
        text.push('-');
    }
    let scale = digits.len() as i32 - 1 - exponent;
    if scale >= 0 && exponent >= -6 {
        if scale == 0 {
            text.push_str(&digits);
        } else if exponent >= 0 {
            let (whole, fraction) = digits.split_at((exponent + 1) as usize);
            text.push_str(&format!("{whole}.{fraction}"));
        } else {
            let zeros = "0".repeat((-exponent - 1) as usize);
            text.push_str(&format!("0.{zeros}{digits}"));
        }
    } else {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let sign = if exponent < 0 { '-' } else { '+' };
        text.push_str(&format!("{first}{point}{rest}E{sign}{}", exponent.abs()));
    }
}

/// Appends bytes as text in base 64.
fn write_base64(bytes: &[u8], text: &mut String) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    text.push('"');
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for index in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * index) & 63) as usize];
            text.push(if index <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text.push('"');
}

/// Appends a timestamp as text with a T and without trailing zeros.
fn write_timestamp(array: &ArrayRef, row: usize, local: bool, text: &mut String) -> Result<()> {
    let wall = cast(&array.slice(row, 1), &DataType::Timestamp(time_unit(array.data_type()), None))?;
    let formatter = ArrayFormatter::try_new(&wall, &FormatOptions::default())?;
    let Ok(shown) = formatter.value(0).try_to_string() else {
        return exec_err!("a timestamp is out of the range of JSON");
    };
    let shown = match shown.split_once('.') {
        Some((whole, fraction)) => match fraction.trim_end_matches('0') {
            "" => whole.to_owned(),
            fraction => format!("{whole}.{fraction}"),
        },
        None => shown,
    };
    text.push_str(&format!("\"{shown}{}\"", if local { "Z" } else { "" }));
    Ok(())
}

/// The same for one of 128 bits.
fn write_wide_timestamp(array: &ArrayRef, row: usize, text: &mut String) -> Result<()> {
    let shown = readable(&array.slice(row, 1))?;
    let shown = shown.as_string::<i32>().value(0);
    let (time, zone) = shown.strip_suffix('Z').map_or((shown, ""), |time| (time, "Z"));
    let time = if time.contains('.') { time.trim_end_matches('0') } else { time };
    text.push_str(&format!("\"{time}{zone}\""));
    Ok(())
}

fn time_unit(data_type: &DataType) -> TimeUnit {
    match data_type {
        DataType::Timestamp(unit, _) => *unit,
        _ => TimeUnit::Millisecond,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        BinaryArray, Float32Array, Float64Array, Int32Array, ListArray, StringArray, StructArray,
        TimestampMillisecondArray,
    };
    use arrow::datatypes::Field;

    use super::*;

    fn json(array: impl Array + 'static) -> Vec<String> {
        let strings = json_strings(&(Arc::new(array) as ArrayRef)).unwrap();
        strings.as_string::<i32>().iter().map(|text| text.unwrap_or("NULL").to_owned()).collect()
    }

    #[test]
    fn doubles_are_written_as_java_writes_them() {
        for (value, expected) in [
            (1.5, "1.5"),
            (100.0, "100.0"),
            (1e20, "1.0E+20"),
            (1e10, "1.0E+10"),
            (1.25e10, "1.25E+10"),
            (12_345_678.9, "12345678.9"),
            (123_456_789_012.0, "123456789012"),
            (1e-4, "0.00010"),
            (0.001, "0.001"),
            (1.5e-5, "0.000015"),
            (1e-7, "1.0E-7"),
            (-2.5, "-2.5"),
            (0.0, "0.0"),
            (f64::NAN, "\"NaN\""),
        ] {
            assert_eq!(json(Float64Array::from(vec![value])), [expected]);
        }
        assert_eq!(json(Float32Array::from(vec![0.1, 3.0])), ["0.10000000149011612", "3.0"]);
    }

    #[test]
    fn values_of_other_types() {
        assert_eq!(
            json(StringArray::from(vec![Some("q\"uo\\te/é\n\u{1}"), None])),
            ["\"q\\\"uo\\\\te/é\\n\\u0001\"", "NULL"]
        );
        assert_eq!(
            json(BinaryArray::from_vec(vec![b"hi", b"", b"\0", b"abc"])),
            ["\"aGk=\"", "\"\"", "\"AA==\"", "\"YWJj\""]
        );
        let times = || TimestampMillisecondArray::from(vec![1_709_202_030_120, -1, 946_684_800_000]);
        assert_eq!(
            json(times()),
            ["\"2024-02-29T10:20:30.12\"", "\"1969-12-31T23:59:59.999\"", "\"2000-01-01T00:00:00\""]
        );
        assert_eq!(json(times().with_timezone("UTC"))[2], "\"2000-01-01T00:00:00Z\"");
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([
            Some(vec![Some(1), None]),
            Some(vec![]),
            None,
        ]);
        assert_eq!(json(lists), ["[1,null]", "[]", "NULL"]);
        let p: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
        let q: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None]));
        let rows = StructArray::from(vec![
            (Arc::new(Field::new("p", DataType::Int32, true)), p),
            (Arc::new(Field::new("q", DataType::Utf8, true)), q),
        ]);
        assert_eq!(json(rows), [r#"{"p":1,"q":"x"}"#, r#"{"p":null,"q":null}"#]);
        assert!(check_type(&DataType::Date32).unwrap_err().to_string().contains("Type 'DATE' is not scalar"));
    }
}
