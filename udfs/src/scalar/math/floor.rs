//! FLOOR of numbers.

use datafusion_expr::ScalarUDF;

use super::whole::{types, whole};
use crate::scalar::plain::Plain;

/// `FLOOR(number)`: the greatest integer that is not above a number, in its type; a DECIMAL loses its scale.
pub(super) fn floor() -> ScalarUDF {
    Plain::new("floor", "FLOOR(<NUMERIC>)", types, |args| {
        whole(args, f32::floor, f64::floor, |value, unit| i128::div_euclid(value, unit))
    })
    .udf()
}
