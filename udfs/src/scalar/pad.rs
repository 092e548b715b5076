//! LPAD and RPAD.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type};
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::arguments::{array, is_text, strings};
use super::plain::{Nullable, Plain, is_integer};

/// `LPAD(text, length, pad)`: the text cut to so many characters, or filled up in front. NULL for a negative length and
/// an empty pad.
pub(super) fn lpad() -> ScalarUDF {
    let form = "LPAD(<CHARACTER>, <INTEGER>, <CHARACTER>)";
    Plain::new("lpad", form, types, |args| pad(args, true)).nullable(Nullable::Always).udf()
}

/// `RPAD(text, length, pad)`: the same at the end.
pub(super) fn rpad() -> ScalarUDF {
    let form = "RPAD(<CHARACTER>, <INTEGER>, <CHARACTER>)";
    Plain::new("rpad", form, types, |args| pad(args, false)).nullable(Nullable::Always).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [text, length, pad] if is_text(text) && is_integer(length) && is_text(pad) => {
            Some((vec![DataType::Utf8, DataType::Int32, DataType::Utf8], DataType::Utf8))
        }
        _ => None,
    }
}

fn pad(args: &ScalarFunctionArgs, left: bool) -> Result<ArrayRef> {
    let (texts, pads) = (strings(args, 0)?, strings(args, 2)?);
    let lengths = cast(&array(args, 1)?, &DataType::Int32)?;
    let lengths = lengths.as_primitive::<Int32Type>();
    let mut result = StringBuilder::with_capacity(texts.len(), texts.value_data().len());
    let mut padded = String::new();
    for row in 0..texts.len() {
        let valid = texts.is_valid(row) && pads.is_valid(row) && lengths.is_valid(row);
        let length = usize::try_from(if valid { lengths.value(row) } else { -1 });
        let Some(length) = length.ok().filter(|_| !pads.value(row).is_empty()) else {
            result.append_null();
            continue;
        };
        let text = texts.value(row);
        let missing = length.saturating_sub(text.chars().count());
        let end = text.char_indices().nth(length).map_or(text.len(), |(end, _)| end);
        padded.clear();
        if !left {
            padded.push_str(&text[..end]);
        }
        padded.extend(pads.value(row).chars().cycle().take(missing));
        if left {
            padded.push_str(&text[..end]);
        }
        result.append_value(&padded);
    }
    Ok(Arc::new(result.finish()))
}
