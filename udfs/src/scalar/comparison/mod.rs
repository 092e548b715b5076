//! Comparisons of floating numbers, which are planned as functions.

mod float_comparison;
mod float_in;

use datafusion_expr::ScalarUDF;

pub use float_comparison::{FloatComparison, FloatOperator};
pub use float_in::float_in;

pub(super) fn functions() -> Vec<ScalarUDF> {
    let comparisons = FloatOperator::ALL.map(|operator| ScalarUDF::from(FloatComparison::new(operator)));
    comparisons.into_iter().chain([float_in()]).collect()
}
