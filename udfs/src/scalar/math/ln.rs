//! LN.

use datafusion_expr::ScalarUDF;

use super::doubles::{double_function, of_one};

/// `LN(number)`: the natural logarithm; -Infinity of 0 and NaN of a negative number, a DOUBLE.
pub(super) fn ln() -> ScalarUDF {
    double_function("ln", "LN(<NUMERIC>)", |args| of_one(args, f64::ln))
}
