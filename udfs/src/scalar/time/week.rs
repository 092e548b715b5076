//! WEEK.

use datafusion_expr::ScalarUDF;

use super::extract::{extract, short_form};

/// `WEEK(time)`: the ISO week of the year, as `EXTRACT(WEEK FROM time)`.
pub(super) fn week() -> ScalarUDF {
    short_form("week", "WEEK(<DATETIME>)", |args| extract(args, 0, "WEEK"))
}
