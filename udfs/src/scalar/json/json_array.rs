//! JSON_ARRAY.

use arrow::array::{Array, ArrayRef};
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::members::{columns, types};
use crate::scalar::plain::{Nullable, Plain};
use crate::scalar::text_rows::TextRows;

/// `JSON_ARRAY(value, …)`, planned as `json_array('on null', value, …)`.
pub(super) fn json_array() -> ScalarUDF {
    Plain::new("json_array", "JSON_ARRAY(<ANY>)", types, evaluate).nullable(Nullable::Never).udf()
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (absent, columns) = columns(args)?;
    let mut result = TextRows::with_capacity(args.number_rows, args.number_rows * 16);
    for row in 0..args.number_rows {
        let text = result.text();
        text.push('[');
        for (index, column) in columns.iter().filter(|column| !absent || column.is_valid(row)).enumerate() {
            if index > 0 {
                text.push(',');
            }
            text.push_str(if column.is_valid(row) { column.value(row) } else { "null" });
        }
        text.push(']');
        result.end()?;
    }
    result.finish()
}
