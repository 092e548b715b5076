//! JSON.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::DataType;
use datafusion_common::{Result, exec_datafusion_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::document::Json;
use crate::scalar::arguments::{strings, texts_and_ints};
use crate::scalar::plain::Plain;

/// `JSON(text)`: a text that is JSON, inside of a constructor.
pub(super) fn json() -> ScalarUDF {
    Plain::new(
        "json",
        "JSON(<CHARACTER>)",
        |args| Some((texts_and_ints(args, "t")?, DataType::Utf8)),
        evaluate,
    )
    .udf()
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
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
