//! JSON_OBJECT.

use arrow::array::{Array, ArrayRef};
use datafusion_common::{Result, exec_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::members::{columns, types};
use crate::json::write_string;
use crate::scalar::plain::{Nullable, Plain};
use crate::scalar::text_rows::TextRows;

/// `JSON_OBJECT(key VALUE value, …)`, planned as `json_object('on null', key, value, …)`: an object with sorted keys; of a key
/// that comes twice the last counts.
pub(super) fn json_object() -> ScalarUDF {
    Plain::new("json_object", "JSON_OBJECT(<CHARACTER> VALUE <ANY>)", types, evaluate)
        .nullable(Nullable::Never)
        .udf()
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (absent, columns) = columns(args)?;
    let mut result = TextRows::with_capacity(args.number_rows, args.number_rows * 16);
    let mut members: Vec<(&str, &str)> = Vec::with_capacity(columns.len() / 2);
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
        let text = result.text();
        text.push('{');
        let mut first = true;
        for (index, (key, value)) in members.iter().enumerate() {
            if members.get(index + 1).is_some_and(|(next, _)| next == key) {
                continue;
            }
            if !first {
                text.push(',');
            }
            first = false;
            write_string(key, text);
            text.push(':');
            text.push_str(value);
        }
        text.push('}');
        result.end()?;
    }
    result.finish()
}
