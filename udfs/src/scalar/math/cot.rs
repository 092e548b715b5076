//! COT.

use datafusion_expr::ScalarUDF;

use super::doubles::{double_function, of_one};

/// `COT(number)`: the cotangent of an angle in radians, a DOUBLE.
pub(super) fn cot() -> ScalarUDF {
    double_function("cot", "COT(<NUMERIC>)", |args| of_one(args, |angle| 1.0 / angle.tan()))
}
