//! REPLACE.

use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use super::find::find;
use crate::scalar::arguments::{Text, texts_and_ints};
use crate::scalar::plain::Plain;
use crate::scalar::text_rows::write_rows;

/// `REPLACE(text, old, new)`: every occurrence of a part replaced. The empty part stands between all characters.
pub(super) fn replace() -> ScalarUDF {
    Plain::new(
        "replace",
        "REPLACE(<CHARACTER>, <CHARACTER>, <CHARACTER>)",
        |args| Some((texts_and_ints(args, "ttt")?, DataType::Utf8)),
        |args| {
            let (texts, old, new) = (Text::new(args, 0)?, Text::new(args, 1)?, Text::new(args, 2)?);
            write_rows(args.number_rows, texts.bytes(args.number_rows), |row, result| {
                let mut write = || {
                    let (text, old, new) = (texts.get(row)?, old.get(row)?, new.get(row)?);
                    if old.is_empty() {
                        // before each character and at the end
                        text.chars().for_each(|character| {
                            result.push_str(new);
                            result.push(character);
                        });
                        result.push_str(new);
                        return Some(());
                    }
                    let mut rest = text;
                    while let Some(start) = find(rest, old) {
                        result.push_str(&rest[..start]);
                        result.push_str(new);
                        rest = &rest[start + old.len()..];
                    }
                    result.push_str(rest);
                    Some(())
                };
                Ok(write())
            })
        },
    )
    .udf()
}
