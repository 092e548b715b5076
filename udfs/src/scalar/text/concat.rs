//! CONCAT.

use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::ScalarUDF;

use crate::scalar::arguments::{Text, is_text};
use crate::scalar::plain::Plain;
use crate::scalar::text_rows::write_rows;

/// `CONCAT(text, …)`: the texts one behind the other; NULL if one of them is.
pub(super) fn concat() -> ScalarUDF {
    Plain::new(
        "concat",
        "CONCAT(<CHARACTER>)",
        |args| {
            let texts = !args.is_empty() && args.iter().all(is_text);
            texts.then(|| (vec![DataType::Utf8; args.len()], DataType::Utf8))
        },
        |args| {
            let texts =
                (0..args.args.len()).map(|index| Text::new(args, index)).collect::<Result<Vec<_>>>()?;
            let bytes = texts.iter().map(|text| text.bytes(args.number_rows)).sum();
            write_rows(args.number_rows, bytes, |row, result| {
                Ok(texts.iter().try_for_each(|text| {
                    result.push_str(text.get(row)?);
                    Some(())
                }))
            })
        },
    )
    .udf()
}
