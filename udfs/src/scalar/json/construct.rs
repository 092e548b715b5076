//! JSON_OBJECT, JSON_ARRAY and JSON.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringArray, StringBuilder};
use arrow::datatypes::DataType;
use datafusion_common::{Result, exec_datafusion_err, exec_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::super::arguments::{constant_text, is_text, strings};
use super::super::plain::{Nullable, Plain};
use super::document::Json;
use crate::json::write_string;

/// The values are planned as JSON text already: as calls of JSON_STRING, or of one of these.
pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![
        Plain::new("json_object", "JSON_OBJECT(<CHARACTER> VALUE <ANY>)", texts, object)
            .nullable(Nullable::Never)
            .udf(),
        Plain::new("json_array", "JSON_ARRAY(<ANY>)", texts, array).nullable(Nullable::Never).udf(),
        Plain::new("json", "JSON(<CHARACTER>)", texts, json).udf(),
    ]
}

fn texts(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    (!args.is_empty() && args.iter().all(is_text)).then(|| (vec![DataType::Utf8; args.len()], DataType::Utf8))
}

fn columns(args: &ScalarFunctionArgs) -> Result<(bool, Vec<StringArray>)> {
    let absent = constant_text(args, 0).flatten() == Some("ABSENT");
    Ok((absent, (1..args.args.len()).map(|index| strings(args, index)).collect::<Result<_>>()?))
}

/// `json_object('on null', k, v, …)`, with sorted keys; of a key that comes twice the last counts.
fn object(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (absent, columns) = columns(args)?;
    let mut result = StringBuilder::with_capacity(args.number_rows, args.number_rows * 16);
    let mut members: Vec<(&str, &str)> = Vec::with_capacity(columns.len() / 2);
    let mut text = String::new();
    for row in 0..args.number_rows {
        members.clear();
        for pair in columns.chunks_exact(2) {
            if pair[0].is_null(row) {
                return exec_err!("a key of JSON_OBJECT must not be NULL");
            }
            let value = if pair[1].is_valid(row) { pair[1].value(row) } else { "null" };
            if !(absent && pair[1].is_null(row)) {
                members.push((pair[0].value(row), value));
            }
        }
        members.sort_by_key(|(key, _)| *key);
        text.clear();
        text.push('{');
        for (index, (key, value)) in members.iter().enumerate() {
            if members.get(index + 1).is_some_and(|(next, _)| next == key) {
                continue;
            }
            if text.len() > 1 {
                text.push(',');
            }
            write_string(key, &mut text);
            text.push(':');
            text.push_str(value);
        }
        text.push('}');
        result.append_value(&text);
    }
    Ok(Arc::new(result.finish()))
}

/// `json_array('on null', v, …)`.
fn array(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (absent, columns) = columns(args)?;
    let mut result = StringBuilder::with_capacity(args.number_rows, args.number_rows * 16);
    let mut text = String::new();
    for row in 0..args.number_rows {
        text.clear();
        text.push('[');
        for column in columns.iter().filter(|column| !absent || column.is_valid(row)) {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(if column.is_valid(row) { column.value(row) } else { "null" });
        }
        text.push(']');
        result.append_value(&text);
    }
    Ok(Arc::new(result.finish()))
}

/// `JSON(text)`: a text that is JSON, inside of a constructor.
fn json(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let documents = strings(args, 0)?;
    let normal = |text: &str| {
        let document = Json::parse(text).ok_or_else(|| exec_datafusion_err!("'{text}' is no JSON"))?;
        let mut text = String::new();
        document.write(&mut text);
        Ok(text)
    };
    let normal =
        documents.iter().map(|text| text.map(normal).transpose()).collect::<Result<StringArray>>()?;
    Ok(Arc::new(normal))
}
