//! TAN.

use datafusion_expr::ScalarUDF;

use super::doubles::{double_function, of_one};

/// `TAN(number)`: the tangent of an angle in radians, a DOUBLE.
pub(super) fn tan() -> ScalarUDF {
    double_function("tan", "TAN(<NUMERIC>)", |args| of_one(args, f64::tan))
}
