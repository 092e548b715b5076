//! IS JSON.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::document::Json;
use crate::scalar::arguments::{constant_text, strings, texts_and_ints};
use crate::scalar::plain::{Nullable, Plain};

/// `x IS JSON [VALUE | ARRAY | OBJECT | SCALAR]`, planned as `is_json(x, 'kind')`; FALSE for NULL.
pub(super) fn is_json() -> ScalarUDF {
    Plain::new(
        "is_json",
        "<CHARACTER> IS JSON",
        |args| Some((texts_and_ints(args, "tt")?, DataType::Boolean)),
        evaluate,
    )
    .nullable(Nullable::Never)
    .udf()
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let texts = strings(args, 0)?;
    let kind = constant_text(args, 1).flatten().unwrap_or("VALUE");
    let check = |text: &str| match (Json::parse(text), kind) {
        (None, _) => false,
        (Some(json), "ARRAY") => matches!(json, Json::Array(_)),
        (Some(json), "OBJECT") => matches!(json, Json::Object(_)),
        (Some(json), "SCALAR") => json.is_scalar(),
        (Some(_), _) => true,
    };
    Ok(Arc::new(texts.iter().map(|text| Some(text.is_some_and(check))).collect::<BooleanArray>()))
}
