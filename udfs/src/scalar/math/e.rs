//! E.

use std::sync::Arc;

use arrow::array::Float64Array;
use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use crate::scalar::plain::{Nullable, Plain};

/// `E()`: Euler's number, a DOUBLE.
pub(super) fn e() -> ScalarUDF {
    Plain::new(
        "e",
        "E()",
        |args| args.is_empty().then_some((vec![], DataType::Float64)),
        |_| Ok(Arc::new(Float64Array::from(vec![std::f64::consts::E]))),
    )
    .nullable(Nullable::Never)
    .udf()
}
