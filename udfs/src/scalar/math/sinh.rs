//! SINH.

use datafusion_expr::ScalarUDF;

use super::doubles::{double_function, of_one};

/// `SINH(number)`: the hyperbolic sine, a DOUBLE.
pub(super) fn sinh() -> ScalarUDF {
    double_function("sinh", "SINH(<NUMERIC>)", |args| of_one(args, f64::sinh))
}
