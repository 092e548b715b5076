//! COALESCE.

use datafusion_expr::ScalarUDF;

use super::pick::{first_valid, types};
use crate::scalar::plain::{Nullable, Plain};

/// `COALESCE(value, …)`: the first value that is not NULL. As in Flink all arguments are evaluated, so that one that fails does so even
/// where it is not needed.
pub(super) fn coalesce() -> ScalarUDF {
    Plain::new("coalesce", "COALESCE(<ANY>, …)", types, first_valid).nullable(Nullable::IfAll).udf()
}
