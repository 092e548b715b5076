//! LOG2.

use datafusion_expr::ScalarUDF;

use super::doubles::{double_function, of_one};

/// `LOG2(number)`: the logarithm to base 2, as the quotient of two natural ones, a DOUBLE.
pub(super) fn log2() -> ScalarUDF {
    double_function("log2", "LOG2(<NUMERIC>)", |args| {
        of_one(args, |number| number.ln() / std::f64::consts::LN_2)
    })
}
