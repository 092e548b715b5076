//! REGEXP_EXTRACT.

use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use super::{parts, two_texts};
use crate::scalar::arguments::is_text;
use crate::scalar::plain::{Nullable, Plain, is_integer};

/// `REGEXP_EXTRACT(text, pattern [, group])`: a group of the first match, by default the whole match. NULL if there is no match
/// or no such group, and if the pattern is malformed.
pub(super) fn regexp_extract() -> ScalarUDF {
    Plain::new("regexp_extract", "REGEXP_EXTRACT(<CHARACTER>, <CHARACTER>, <INTEGER>)", types, |args| {
        parts(args, (args.args.len() == 3).then_some(2))
    })
    .nullable(Nullable::Always)
    .udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [text, pattern, group] if is_text(text) && is_text(pattern) && is_integer(group) => {
            Some((vec![DataType::Utf8, DataType::Utf8, DataType::Int64], DataType::Utf8))
        }
        _ => two_texts(args, DataType::Utf8),
    }
}
