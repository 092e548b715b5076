//! ARRAY_MAX.

use datafusion_expr::ScalarUDF;

use super::extreme::{extreme, types};
use crate::scalar::plain::{Nullable, Plain};

/// `ARRAY_MAX(array)`: the greatest of the elements that are not NULL; NULL if there is none. As in Flink NaN compares with
/// nothing: it is the answer only if it is the first.
pub(super) fn array_max() -> ScalarUDF {
    Plain::new("array_max", "ARRAY_MAX(<ARRAY>)", types, |args| extreme(args, true))
        .nullable(Nullable::Always)
        .udf()
}
