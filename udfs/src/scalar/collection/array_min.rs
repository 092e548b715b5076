//! ARRAY_MIN.

use datafusion_expr::ScalarUDF;

use super::extreme::{extreme, types};
use crate::scalar::plain::{Nullable, Plain};

/// `ARRAY_MIN(array)`: the least of the elements that are not NULL; NULL if there is none. As in Flink NaN compares with
/// nothing: it is the answer only if it is the first.
pub(super) fn array_min() -> ScalarUDF {
    Plain::new("array_min", "ARRAY_MIN(<ARRAY>)", types, |args| extreme(args, false))
        .nullable(Nullable::Always)
        .udf()
}
