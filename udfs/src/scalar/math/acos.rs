//! ACOS.

use datafusion_expr::ScalarUDF;

use super::doubles::{double_function, of_one};

/// `ACOS(number)`: the arc cosine in radians; NaN beyond -1 and 1, a DOUBLE.
pub(super) fn acos() -> ScalarUDF {
    double_function("acos", "ACOS(<NUMERIC>)", |args| of_one(args, f64::acos))
}
