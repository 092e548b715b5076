//! RADIANS.

use datafusion_expr::ScalarUDF;

use super::doubles::{double_function, of_one};

/// `RADIANS(number)`: an angle in radians, of one in degrees, a DOUBLE.
pub(super) fn radians() -> ScalarUDF {
    double_function("radians", "RADIANS(<NUMERIC>)", |args| of_one(args, f64::to_radians))
}
