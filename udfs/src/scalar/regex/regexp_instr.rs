//! REGEXP_INSTR.

use std::sync::Arc;

use arrow::array::Int32Array;
use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use super::{rows, two_texts};
use crate::scalar::plain::{Nullable, Plain};

/// `REGEXP_INSTR(text, pattern)`: where the pattern is first found, in characters from 1, or 0. NULL if it is
/// malformed.
pub(super) fn regexp_instr() -> ScalarUDF {
    Plain::new(
        "regexp_instr",
        "REGEXP_INSTR(<CHARACTER>, <CHARACTER>)",
        |args| two_texts(args, DataType::Int32),
        |args| {
            let positions = rows(args, |regex, text| {
                let found = regex.find(text)?;
                Ok(Some(found.map_or(0, |(start, _)| text[..start].chars().count() as i32 + 1)))
            })?;
            Ok(Arc::new(Int32Array::from(positions)))
        },
    )
    .nullable(Nullable::Always)
    .udf()
}
