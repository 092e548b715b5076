//! LOG10.

use datafusion_expr::ScalarUDF;

use super::doubles::{double_function, of_one};

/// `LOG10(number)`: the logarithm to base 10, a DOUBLE.
pub(super) fn log10() -> ScalarUDF {
    double_function("log10", "LOG10(<NUMERIC>)", |args| of_one(args, f64::log10))
}
