//! LEFT.

use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use crate::scalar::arguments::{Integer, Text, texts_and_ints};
use crate::scalar::plain::Plain;
use crate::scalar::text_rows::TextRows;

/// `LEFT(text, count)`: the first characters of a text; none for a negative count.
pub(super) fn left() -> ScalarUDF {
    Plain::new("left", "LEFT(<CHARACTER>, <INTEGER>)", types, |args| {
        let (texts, counts) = (Text::new(args, 0)?, Integer::new(args, 1)?);
        let part = |text: &'_ str, count: i64| -> std::ops::Range<usize> {
            let count = usize::try_from(count).unwrap_or(0);
            0..text.char_indices().nth(count).map_or(text.len(), |(end, _)| end)
        };
        let mut result = TextRows::with_capacity(args.number_rows, texts.bytes(args.number_rows));
        for row in 0..args.number_rows {
            let text = texts.get(row).zip(counts.get(row)).map(|(text, count)| &text[part(text, count)]);
            result.push(text)?;
        }
        result.finish()
    })
    .udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    Some((texts_and_ints(args, "ti")?, DataType::Utf8))
}
