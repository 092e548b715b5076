//! RPAD.

use datafusion_expr::ScalarUDF;

use super::pad::{Side, pad, types};
use crate::scalar::plain::{Nullable, Plain};

/// `RPAD(text, length, pad)`: the text cut to so many UTF-16 units, or filled up at the end. NULL for a negative length and an empty pad.
pub(super) fn rpad() -> ScalarUDF {
    let form = "RPAD(<CHARACTER>, <INTEGER>, <CHARACTER>)";
    Plain::new("rpad", form, types, |args| pad(args, Side::Right)).nullable(Nullable::Always).udf()
}
