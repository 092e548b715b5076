//! ENDSWITH.

use datafusion_expr::ScalarUDF;

use super::affix::{compare, types};
use crate::scalar::plain::Plain;

/// `ENDSWITH(text, part)`: whether a text ends with a part; with the empty part always. The same for BYTES.
pub(super) fn ends_with() -> ScalarUDF {
    Plain::new("endswith", "ENDSWITH(<CHARACTER>, <CHARACTER>)", types, |args| {
        compare(args, <[u8]>::ends_with)
    })
    .udf()
}
