//! MONTH.

use datafusion_expr::ScalarUDF;

use super::extract::{extract, short_form};

/// `MONTH(time)`: the month of the year, from 1, as `EXTRACT(MONTH FROM time)`.
pub(super) fn month() -> ScalarUDF {
    short_form("month", "MONTH(<DATETIME>)", |args| extract(args, 0, "MONTH"))
}
