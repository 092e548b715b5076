//! MINUTE.

use datafusion_expr::ScalarUDF;

use super::extract::{extract, short_form};

/// `MINUTE(time)`: the minute of the hour, as `EXTRACT(MINUTE FROM time)`.
pub(super) fn minute() -> ScalarUDF {
    short_form("minute", "MINUTE(<DATETIME>)", |args| extract(args, 0, "MINUTE"))
}
