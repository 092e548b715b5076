//! CEIL of numbers.

use datafusion_expr::ScalarUDF;

use super::whole::{types, whole};
use crate::scalar::plain::Plain;

/// `CEIL(number)`: the least integer that is not below a number, in its type; a DECIMAL loses its scale.
pub(super) fn ceil() -> ScalarUDF {
    Plain::new("ceil", "CEIL(<NUMERIC>)", types, |args| {
        whole(args, f32::ceil, f64::ceil, |value, unit| -i128::div_euclid(-value, unit))
    })
    .udf()
}
