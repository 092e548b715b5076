//! JSON_QUOTE.

use std::fmt::Write;

use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use crate::scalar::arguments::{Text, texts_and_ints};
use crate::scalar::plain::Plain;
use crate::scalar::text_rows::write_rows;

/// `JSON_QUOTE(text)`: a text as a string of JSON, in which the slash and all that is not ASCII is escaped, too. Control
/// characters that have no short escape stay as they are, as in Flink.
pub(super) fn json_quote() -> ScalarUDF {
    Plain::new(
        "json_quote",
        "JSON_QUOTE(<CHARACTER>)",
        |args| Some((texts_and_ints(args, "t")?, DataType::Utf8)),
        |args| {
            let texts = Text::new(args, 0)?;
            write_rows(
                args.number_rows,
                texts.bytes(args.number_rows) + 2 * args.number_rows,
                |row, result| Ok(texts.get(row).map(|text| quote(text, result))),
            )
        },
    )
    .udf()
}

fn quote(text: &str, result: &mut String) {
    result.push('"');
    for letter in text.chars() {
        match letter {
            '"' => result.push_str("\\\""),
            '\\' => result.push_str("\\\\"),
            '/' => result.push_str("\\/"),
            '\u{8}' => result.push_str("\\b"),
            '\u{c}' => result.push_str("\\f"),
            '\n' => result.push_str("\\n"),
            '\r' => result.push_str("\\r"),
            '\t' => result.push_str("\\t"),
            letter if letter.is_ascii() => result.push(letter),
            letter => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    // writing to a String cannot fail
                    let _ = write!(result, "\\u{unit:04x}");
                }
            }
        }
    }
    result.push('"');
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn escapes() {
        let mut quoted = String::new();
        quote("a\"\\/\n\u{1}é😀", &mut quoted);
        assert_eq!(quoted, "\"a\\\"\\\\\\/\\n\u{1}\\u00e9\\ud83d\\ude00\"");
    }
}
