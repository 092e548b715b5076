//! Flink's scalar functions, one a file.

use std::sync::Arc;

use datafusion_expr::ScalarUDF;

/// All scalar functions of Flink's that DataFusion does not have or has with another meaning.
pub fn flink_scalars() -> Vec<Arc<ScalarUDF>> {
    vec![]
}
