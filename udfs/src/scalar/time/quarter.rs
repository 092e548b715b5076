//! QUARTER.

use datafusion_expr::ScalarUDF;

use super::extract::{extract, short_form};

/// `QUARTER(time)`: the quarter of the year, from 1, as `EXTRACT(QUARTER FROM time)`.
pub(super) fn quarter() -> ScalarUDF {
    short_form("quarter", "QUARTER(<DATETIME>)", |args| extract(args, 0, "QUARTER"))
}
