//! COS.

use datafusion_expr::ScalarUDF;

use super::doubles::{double_function, of_one};

/// `COS(number)`: the cosine of an angle in radians, a DOUBLE.
pub(super) fn cos() -> ScalarUDF {
    double_function("cos", "COS(<NUMERIC>)", |args| of_one(args, f64::cos))
}
