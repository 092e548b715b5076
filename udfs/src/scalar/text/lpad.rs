//! LPAD.

use datafusion_expr::ScalarUDF;

use super::pad::{Side, pad, types};
use crate::scalar::plain::{Nullable, Plain};

/// `LPAD(text, length, pad)`: the text cut to so many UTF-16 units, or filled up in front. NULL for a negative length and an empty pad.
pub(super) fn lpad() -> ScalarUDF {
    let form = "LPAD(<CHARACTER>, <INTEGER>, <CHARACTER>)";
    Plain::new("lpad", form, types, |args| pad(args, Side::Left)).nullable(Nullable::Always).udf()
}
