//! REGEXP_SUBSTR.

use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use super::{parts, two_texts};
use crate::scalar::plain::{Nullable, Plain};

/// `REGEXP_SUBSTR(text, pattern)`: the first match, NULL if there is none or the pattern is malformed.
pub(super) fn regexp_substr() -> ScalarUDF {
    let form = "REGEXP_SUBSTR(<CHARACTER>, <CHARACTER>)";
    Plain::new("regexp_substr", form, |args| two_texts(args, DataType::Utf8), |args| parts(args, None))
        .nullable(Nullable::Always)
        .udf()
}
