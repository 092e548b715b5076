//! IFNULL.

use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use super::pick::{first_valid, types};
use crate::scalar::plain::{Nullable, Plain};

/// `IFNULL(value, replacement)`: the value, or where it is NULL the replacement.
pub(super) fn if_null() -> ScalarUDF {
    let two = |args: &[DataType]| types(args).filter(|_| args.len() == 2);
    Plain::new("ifnull", "IFNULL(<ANY>, <ANY>)", two, first_valid).nullable(Nullable::IfAll).udf()
}
