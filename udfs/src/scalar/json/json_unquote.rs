//! JSON_UNQUOTE.

use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use super::document::Json;
use crate::scalar::arguments::{Text, texts_and_ints};
use crate::scalar::plain::Plain;
use crate::scalar::text_rows::write_rows;

/// `JSON_UNQUOTE(text)`: the text that a string of JSON stands for. Any other text stays as it is.
pub(super) fn json_unquote() -> ScalarUDF {
    Plain::new(
        "json_unquote",
        "JSON_UNQUOTE(<CHARACTER>)",
        |args| Some((texts_and_ints(args, "t")?, DataType::Utf8)),
        |args| {
            let texts = Text::new(args, 0)?;
            write_rows(args.number_rows, texts.bytes(args.number_rows), |row, result| {
                Ok(texts.get(row).map(|text| match Json::parse(text) {
                    Some(Json::Text(unquoted)) if text.starts_with('"') => result.push_str(&unquoted),
                    _ => result.push_str(text),
                }))
            })
        },
    )
    .udf()
}
