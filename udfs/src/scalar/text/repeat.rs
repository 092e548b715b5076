//! REPEAT.

use arrow::datatypes::DataType;
use datafusion_common::exec_err;
use datafusion_expr::ScalarUDF;

use crate::scalar::arguments::{Integer, Text, texts_and_ints};
use crate::scalar::plain::Plain;
use crate::scalar::text_rows::write_rows;

/// `REPEAT(text, count)`: the text so many times; the empty text for a count of 0 or less.
pub(super) fn repeat() -> ScalarUDF {
    Plain::new(
        "repeat",
        "REPEAT(<CHARACTER>, <INTEGER>)",
        |args| Some((texts_and_ints(args, "ti")?, DataType::Utf8)),
        |args| {
            let (texts, counts) = (Text::new(args, 0)?, Integer::new(args, 1)?);
            write_rows(args.number_rows, texts.bytes(args.number_rows), |row, result| {
                let (Some(text), Some(count)) = (texts.get(row), counts.get(row)) else { return Ok(None) };
                let count = usize::try_from(count).unwrap_or(0);
                if text.len().saturating_mul(count) > i32::MAX as usize {
                    return exec_err!(
                        "REPEAT makes a text of more than 2 GiB of {} bytes {count} times",
                        text.len()
                    );
                }
                (0..count).for_each(|_| result.push_str(text));
                Ok(Some(()))
            })
        },
    )
    .udf()
}
