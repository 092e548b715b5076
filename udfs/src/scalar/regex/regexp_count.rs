//! REGEXP_COUNT.

use std::sync::Arc;

use arrow::array::Int32Array;
use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use super::{rows, two_texts};
use crate::scalar::plain::{Nullable, Plain};

/// `REGEXP_COUNT(text, pattern)`: how often the pattern is found, NULL if it is malformed.
pub(super) fn regexp_count() -> ScalarUDF {
    Plain::new(
        "regexp_count",
        "REGEXP_COUNT(<CHARACTER>, <CHARACTER>)",
        |args| two_texts(args, DataType::Int32),
        |args| {
            let counts = rows(args, |regex, text| {
                let mut count = 0;
                regex.each(text, |_| {
                    count += 1;
                    Ok(())
                })?;
                Ok(Some(count))
            })?;
            Ok(Arc::new(Int32Array::from(counts)))
        },
    )
    .nullable(Nullable::Always)
    .udf()
}
