//! STARTSWITH.

use datafusion_expr::ScalarUDF;

use super::affix::{compare, types};
use crate::scalar::plain::Plain;

/// `STARTSWITH(text, part)`: whether a text begins with a part; with the empty part always. The same for BYTES.
pub(super) fn starts_with() -> ScalarUDF {
    Plain::new("startswith", "STARTSWITH(<CHARACTER>, <CHARACTER>)", types, |args| {
        compare(args, <[u8]>::starts_with)
    })
    .udf()
}
