//! PI.

use std::sync::Arc;

use arrow::array::Float64Array;
use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use crate::scalar::plain::{Nullable, Plain};

/// `PI()`: the ratio of a circle's circumference to its diameter, a DOUBLE.
pub(super) fn pi() -> ScalarUDF {
    Plain::new(
        "pi",
        "PI()",
        |args| args.is_empty().then_some((vec![], DataType::Float64)),
        |_| Ok(Arc::new(Float64Array::from(vec![std::f64::consts::PI]))),
    )
    .nullable(Nullable::Never)
    .udf()
}
