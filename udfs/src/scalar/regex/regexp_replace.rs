//! REGEXP_REPLACE.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::Patterns;
use crate::scalar::arguments::{Text, texts_and_ints};
use crate::scalar::plain::{Nullable, Plain};
use crate::scalar::text_rows::write_rows;

/// `REGEXP_REPLACE(text, pattern, new)`: every match replaced by a text, in which `$1` has no meaning. NULL if the pattern is
/// malformed.
pub(super) fn regexp_replace() -> ScalarUDF {
    let form = "REGEXP_REPLACE(<CHARACTER>, <CHARACTER>, <CHARACTER>)";
    Plain::new("regexp_replace", form, |args| Some((texts_and_ints(args, "ttt")?, DataType::Utf8)), evaluate)
        .nullable(Nullable::Always)
        .udf()
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (texts, patterns, replacements) = (Text::new(args, 0)?, Text::new(args, 1)?, Text::new(args, 2)?);
    let mut known = Patterns::default();
    write_rows(args.number_rows, texts.bytes(args.number_rows), |row, result| {
        let arguments = (texts.get(row), patterns.get(row), replacements.get(row));
        let (Some(text), Some(pattern), Some(replacement)) = arguments else { return Ok(None) };
        let Some(regex) = known.get(pattern) else { return Ok(None) };
        let mut copied = 0;
        regex.each(text, |captures| {
            if let Some(found) = captures.get(0) {
                result.push_str(&text[copied..found.start()]);
                result.push_str(replacement);
                copied = found.end();
            }
            Ok(())
        })?;
        result.push_str(&text[copied..]);
        Ok(Some(()))
    })
}
