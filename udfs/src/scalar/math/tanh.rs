//! TANH.

use datafusion_expr::ScalarUDF;

use super::doubles::{double_function, of_one};

/// `TANH(number)`: the hyperbolic tangent, a DOUBLE.
pub(super) fn tanh() -> ScalarUDF {
    double_function("tanh", "TANH(<NUMERIC>)", |args| of_one(args, f64::tanh))
}
