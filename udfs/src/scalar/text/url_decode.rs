//! URL_DECODE.

use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use crate::scalar::arguments::{Text, texts_and_ints};
use crate::scalar::plain::{Nullable, Plain};
use crate::scalar::text_rows::write_rows;

/// `URL_DECODE(text)`: a text read from the form `application/x-www-form-urlencoded`. NULL for a malformed `%XX`; bytes
/// that are no UTF-8 become replacement characters.
pub(super) fn url_decode() -> ScalarUDF {
    Plain::new(
        "url_decode",
        "URL_DECODE(<CHARACTER>)",
        |args| Some((texts_and_ints(args, "t")?, DataType::Utf8)),
        |args| {
            let texts = Text::new(args, 0)?;
            let mut bytes = vec![];
            write_rows(args.number_rows, texts.bytes(args.number_rows), |row, result| {
                Ok(texts.get(row).and_then(|text| decode(text, &mut bytes, result)))
            })
        },
    )
    .nullable(Nullable::Always)
    .udf()
}

/// Appends the decoded text; `bytes` is a buffer for escaped bytes that follow each other.
fn decode(text: &str, bytes: &mut Vec<u8>, result: &mut String) -> Option<()> {
    let mut rest = text;
    while let Some(at) = rest.find(['%', '+']) {
        result.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(behind) = rest.strip_prefix('+') {
            result.push(' ');
            rest = behind;
            continue;
        }
        bytes.clear();
        while let Some(behind) = rest.strip_prefix('%') {
            let digits =
                behind.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &behind[2..];
        }
        result.push_str(&String::from_utf8_lossy(bytes));
    }
    result.push_str(rest);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn escapes() {
        let decoded = |text: &str| {
            let mut result = String::new();
            decode(text, &mut vec![], &mut result).map(|()| result)
        };
        for (text, expected) in [
            ("a+b%26c", Some("a b&c")),
            ("%E6%BC%A2", Some("漢")),
            ("%FF", Some("\u{FFFD}")),
            ("é", Some("é")),
            ("%E", None),
            ("a%zz", None),
            ("%é", None),
            ("", Some("")),
        ] {
            assert_eq!(decoded(text).as_deref(), expected, "{text}");
        }
    }
}
