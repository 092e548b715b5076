//! DEGREES.

use datafusion_expr::ScalarUDF;

use super::doubles::{double_function, of_one};

/// `DEGREES(number)`: an angle in degrees, of one in radians, a DOUBLE.
pub(super) fn degrees() -> ScalarUDF {
    double_function("degrees", "DEGREES(<NUMERIC>)", |args| of_one(args, f64::to_degrees))
}
