//! SPLIT.

use std::sync::Arc;

use arrow::array::{ListBuilder, StringBuilder};
use arrow::datatypes::{DataType, Field};
use datafusion_expr::ScalarUDF;

use crate::scalar::arguments::{Text, texts_and_ints};
use crate::scalar::plain::Plain;

/// `SPLIT(text, separator)`: the parts of a text as an array, empty ones included. An empty separator splits into
/// characters; the empty text has no parts.
pub(super) fn split() -> ScalarUDF {
    Plain::new(
        "split",
        "SPLIT(<CHARACTER>, <CHARACTER>)",
        |args| {
            let list = DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true)));
            Some((texts_and_ints(args, "tt")?, list))
        },
        |args| {
            let (texts, separators) = (Text::new(args, 0)?, Text::new(args, 1)?);
            let values = StringBuilder::with_capacity(args.number_rows * 4, texts.bytes(args.number_rows));
            let mut lists = ListBuilder::with_capacity(values, args.number_rows);
            let mut character = [0; 4];
            for row in 0..args.number_rows {
                let Some((text, separator)) = texts.get(row).zip(separators.get(row)) else {
                    lists.append(false);
                    continue;
                };
                if separator.is_empty() {
                    text.chars().for_each(|c| lists.values().append_value(c.encode_utf8(&mut character)));
                } else if !text.is_empty() {
                    text.split(separator).for_each(|part| lists.values().append_value(part));
                }
                lists.append(true);
            }
            Ok(Arc::new(lists.finish()))
        },
    )
    .udf()
}
