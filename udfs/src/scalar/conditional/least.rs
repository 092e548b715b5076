//! LEAST.

use std::cmp::Ordering;

use datafusion_expr::ScalarUDF;

use super::pick::{extreme, types};
use crate::scalar::plain::Plain;

/// `LEAST(value, …)`: the least of the values; NULL if one of them is. NaN is greater than all numbers.
pub(super) fn least() -> ScalarUDF {
    Plain::new("least", "LEAST(<COMPARABLE>, …)", types, |args| extreme(args, Ordering::Less)).udf()
}
