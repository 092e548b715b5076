//! DAYOFMONTH.

use datafusion_expr::ScalarUDF;

use super::extract::{extract, short_form};

/// `DAYOFMONTH(time)`: the day of the month, from 1, as `EXTRACT(DAY FROM time)`.
pub(super) fn day_of_month() -> ScalarUDF {
    short_form("dayofmonth", "DAYOFMONTH(<DATETIME>)", |args| extract(args, 0, "DAY"))
}
