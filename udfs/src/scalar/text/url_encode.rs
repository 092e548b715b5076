//! URL_ENCODE.

use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use crate::scalar::arguments::{Text, texts_and_ints};
use crate::scalar::plain::Plain;
use crate::scalar::text_rows::write_rows;

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// `URL_ENCODE(text)`: a text in the form `application/x-www-form-urlencoded`, as Java writes it: letters, digits and
/// `.-*_` stay, a space becomes `+`, and of all others the UTF-8 bytes are written as `%XX`.
pub(super) fn url_encode() -> ScalarUDF {
    Plain::new(
        "url_encode",
        "URL_ENCODE(<CHARACTER>)",
        |args| Some((texts_and_ints(args, "t")?, DataType::Utf8)),
        |args| {
            let texts = Text::new(args, 0)?;
            write_rows(args.number_rows, texts.bytes(args.number_rows), |row, result| {
                Ok(texts.get(row).map(|text| {
                    for byte in text.bytes() {
                        match byte {
                            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'*' | b'_' => {
                                result.push(char::from(byte));
                            }
                            b' ' => result.push('+'),
                            _ => {
                                result.push('%');
                                result.push(char::from(DIGITS[usize::from(byte >> 4)]));
                                result.push(char::from(DIGITS[usize::from(byte & 15)]));
                            }
                        }
                    }
                }))
            })
        },
    )
    .udf()
}
