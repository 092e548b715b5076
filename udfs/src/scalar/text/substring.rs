//! SUBSTRING.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use crate::scalar::arguments::{Integer, Text, texts_and_ints};
use crate::scalar::plain::{Nullable, Plain};
use crate::scalar::text_rows::TextRows;

/// `SUBSTRING(text FROM start [FOR count])`, also `SUBSTR`: a part of a text, counted in characters from 1. A start of 0 is the
/// first character, a negative one counts from the end, and one outside of the text gives the empty text. A
/// negative count gives NULL.
pub(super) fn substring() -> ScalarUDF {
    Plain::new("substring", "SUBSTRING(<CHARACTER> FROM <INTEGER> FOR <INTEGER>)", types, evaluate)
        .nullable(Nullable::Always)
        .alias("substr")
        .udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    Some((texts_and_ints(args, "ti").or_else(|| texts_and_ints(args, "tii"))?, DataType::Utf8))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (texts, starts) = (Text::new(args, 0)?, Integer::new(args, 1)?);
    let counts =
        if args.args.len() == 3 { Integer::new(args, 2)? } else { Integer::Constant(Some(i64::MAX)) };
    let mut result = TextRows::with_capacity(args.number_rows, texts.bytes(args.number_rows));
    for row in 0..args.number_rows {
        let part = || part(texts.get(row)?, starts.get(row)?, counts.get(row)?);
        result.push(part())?;
    }
    result.finish()
}

fn part(text: &str, start: i64, count: i64) -> Option<&str> {
    let count = usize::try_from(count).ok()?;
    let begin = if start < 0 {
        // from the last character
        let back = usize::try_from(-start - 1).unwrap_or(usize::MAX);
        text.char_indices().nth_back(back).map_or(text.len(), |(begin, _)| begin)
    } else {
        let skipped = usize::try_from(start - 1).unwrap_or(0);
        text.char_indices().nth(skipped).map_or(text.len(), |(begin, _)| begin)
    };
    let rest = &text[begin..];
    let end = rest.char_indices().nth(count).map_or(rest.len(), |(end, _)| end);
    Some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn starts_count_from_both_ends() {
        let text = "é漢😀z";
        for (start, count, expected) in [
            (2, 2, Some("漢😀")),
            (0, 2, Some("é漢")),
            (-2, 1, Some("😀")),
            (-2, 9, Some("😀z")),
            (-9, 3, Some("")),
            (5, 1, Some("")),
            (1, 0, Some("")),
            (1, -1, None),
            (i64::MIN + 1, i64::MAX, Some("")),
        ] {
            assert_eq!(part(text, start, count), expected, "from {start} for {count}");
        }
    }
}
