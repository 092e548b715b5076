//! INITCAP.

use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use crate::scalar::arguments::{Text, texts_and_ints};
use crate::scalar::plain::Plain;
use crate::scalar::text_rows::write_rows;

/// `INITCAP(text)`: the first letter of every word in upper case, the others in lower case. Words are made of ASCII
/// letters and digits; any other character stays as it is and ends the word, as in Flink.
pub(super) fn initcap() -> ScalarUDF {
    Plain::new(
        "initcap",
        "INITCAP(<CHARACTER>)",
        |args| Some((texts_and_ints(args, "t")?, DataType::Utf8)),
        |args| {
            let texts = Text::new(args, 0)?;
            write_rows(args.number_rows, texts.bytes(args.number_rows), |row, result| {
                let Some(text) = texts.get(row) else { return Ok(None) };
                let mut first = true;
                for letter in text.chars() {
                    result.push(if first {
                        letter.to_ascii_uppercase()
                    } else {
                        letter.to_ascii_lowercase()
                    });
                    first = !letter.is_ascii_alphanumeric();
                }
                Ok(Some(()))
            })
        },
    )
    .udf()
}
