//! RIGHT.

use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use crate::scalar::arguments::{Integer, Text, texts_and_ints};
use crate::scalar::plain::Plain;
use crate::scalar::text_rows::TextRows;

/// `RIGHT(text, count)`: the last characters of a text; none for a negative count.
pub(super) fn right() -> ScalarUDF {
    Plain::new("right", "RIGHT(<CHARACTER>, <INTEGER>)", types, |args| {
        let (texts, counts) = (Text::new(args, 0)?, Integer::new(args, 1)?);
        let part = |text: &'_ str, count: i64| -> std::ops::Range<usize> {
            let count = usize::try_from(count).unwrap_or(0);
            match count.checked_sub(1) {
                None => text.len()..text.len(),
                Some(before) => {
                    text.char_indices().nth_back(before).map_or(0, |(start, _)| start)..text.len()
                }
            }
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
