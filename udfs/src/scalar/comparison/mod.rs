//! Comparisons of floating numbers, which are planned as functions.

mod float_comparison;

use datafusion_expr::ScalarUDF;

pub use float_comparison::{FloatComparison, FloatOperator};

pub(super) fn functions() -> Vec<ScalarUDF> {
    FloatOperator::ALL.map(|operator| ScalarUDF::from(FloatComparison::new(operator))).into()
}
