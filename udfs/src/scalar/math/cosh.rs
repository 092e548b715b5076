//! COSH.

use datafusion_expr::ScalarUDF;

use super::doubles::{double_function, of_one};

/// `COSH(number)`: the hyperbolic cosine, a DOUBLE.
pub(super) fn cosh() -> ScalarUDF {
    double_function("cosh", "COSH(<NUMERIC>)", |args| of_one(args, f64::cosh))
}
