//! YEAR.

use datafusion_expr::ScalarUDF;

use super::extract::{extract, short_form};

/// `YEAR(time)`: the year, as `EXTRACT(YEAR FROM time)`.
pub(super) fn year() -> ScalarUDF {
    short_form("year", "YEAR(<DATETIME>)", |args| extract(args, 0, "YEAR"))
}
