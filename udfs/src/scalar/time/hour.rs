//! HOUR.

use datafusion_expr::ScalarUDF;

use super::extract::{extract, short_form};

/// `HOUR(time)`: the hour of the day, as `EXTRACT(HOUR FROM time)`.
pub(super) fn hour() -> ScalarUDF {
    short_form("hour", "HOUR(<DATETIME>)", |args| extract(args, 0, "HOUR"))
}
