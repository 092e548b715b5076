//! SQRT.

use datafusion_expr::ScalarUDF;

use super::doubles::{double_function, of_one};

/// `SQRT(number)`: the square root; NaN of a negative number, a DOUBLE.
pub(super) fn sqrt() -> ScalarUDF {
    double_function("sqrt", "SQRT(<NUMERIC>)", |args| of_one(args, f64::sqrt))
}
