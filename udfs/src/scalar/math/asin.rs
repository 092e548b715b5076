//! ASIN.

use datafusion_expr::ScalarUDF;

use super::doubles::{double_function, of_one};

/// `ASIN(number)`: the arc sine in radians; NaN beyond -1 and 1, a DOUBLE.
pub(super) fn asin() -> ScalarUDF {
    double_function("asin", "ASIN(<NUMERIC>)", |args| of_one(args, f64::asin))
}
