//! SECOND.

use datafusion_expr::ScalarUDF;

use super::extract::{extract, short_form};

/// `SECOND(time)`: the second of the minute, as `EXTRACT(SECOND FROM time)`.
pub(super) fn second() -> ScalarUDF {
    short_form("second", "SECOND(<DATETIME>)", |args| extract(args, 0, "SECOND"))
}
