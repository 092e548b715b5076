//! SIN.

use datafusion_expr::ScalarUDF;

use super::doubles::{double_function, of_one};

/// `SIN(number)`: the sine of an angle in radians, a DOUBLE.
pub(super) fn sin() -> ScalarUDF {
    double_function("sin", "SIN(<NUMERIC>)", |args| of_one(args, f64::sin))
}
