//! JSON_EXISTS.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::{Found, failed, find_rows};
use crate::scalar::arguments::{constant_text, texts_and_ints};
use crate::scalar::plain::{Nullable, Plain};

/// `JSON_EXISTS(x, path … ON ERROR)`, planned as `json_exists(x, path, 'on error')`: whether there is something, other than null, at
/// a path.
pub(super) fn json_exists() -> ScalarUDF {
    let form = "JSON_EXISTS(<CHARACTER>, <CHARACTER>)";
    Plain::new("json_exists", form, |args| Some((texts_and_ints(args, "ttt")?, DataType::Boolean)), evaluate)
        .nullable(Nullable::Always)
        .udf()
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let on_error = constant_text(args, 2).flatten().unwrap_or("FALSE").to_owned();
    let mut result = Vec::with_capacity(args.number_rows);
    find_rows(args, |found| {
        result.push(match found {
            Found::Null => None,
            Found::Empty => Some(false),
            Found::Value(_) => Some(true),
            Found::Error => match on_error.as_str() {
                "TRUE" => Some(true),
                "UNKNOWN" => None,
                "ERROR" => return failed("JSON_EXISTS", false),
                _ => Some(false),
            },
        });
        Ok(())
    })?;
    Ok(Arc::new(BooleanArray::from(result)))
}
