//! ATAN.

use datafusion_expr::ScalarUDF;

use super::doubles::{double_function, of_one};

/// `ATAN(number)`: the arc tangent in radians, a DOUBLE.
pub(super) fn atan() -> ScalarUDF {
    double_function("atan", "ATAN(<NUMERIC>)", |args| of_one(args, f64::atan))
}
