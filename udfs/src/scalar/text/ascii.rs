//! ASCII.

use std::sync::Arc;

use arrow::array::Int32Array;
use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use crate::scalar::arguments::{Text, texts_and_ints};
use crate::scalar::plain::Plain;

/// `ASCII(text)`: the first byte of the UTF-8 form as a signed number, so negative beyond ASCII; 0 for the empty text.
pub(super) fn ascii() -> ScalarUDF {
    Plain::new(
        "ascii",
        "ASCII(<CHARACTER>)",
        |args| Some((texts_and_ints(args, "t")?, DataType::Int32)),
        |args| {
            let texts = Text::new(args, 0)?;
            let first = |text: &str| text.bytes().next().map_or(0, |byte| i32::from(byte as i8));
            Ok(Arc::new((0..args.number_rows).map(|row| texts.get(row).map(first)).collect::<Int32Array>()))
        },
    )
    .udf()
}
