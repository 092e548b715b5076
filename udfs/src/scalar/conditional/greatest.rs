//! GREATEST.

use std::cmp::Ordering;

use datafusion_expr::ScalarUDF;

use super::pick::{extreme, types};
use crate::scalar::plain::Plain;

/// `GREATEST(value, …)`: the greatest of the values; NULL if one of them is. NaN is greater than all numbers.
pub(super) fn greatest() -> ScalarUDF {
    Plain::new("greatest", "GREATEST(<COMPARABLE>, …)", types, |args| extreme(args, Ordering::Greater)).udf()
}
