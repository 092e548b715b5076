//! EXP.

use datafusion_expr::ScalarUDF;

use super::doubles::{double_function, of_one};

/// `EXP(number)`: e to the power of a number, a DOUBLE.
pub(super) fn exp() -> ScalarUDF {
    double_function("exp", "EXP(<NUMERIC>)", |args| of_one(args, f64::exp))
}
