//! DAYOFYEAR.

use datafusion_expr::ScalarUDF;

use super::extract::{extract, short_form};

/// `DAYOFYEAR(time)`: the day of the year, from 1, as `EXTRACT(DOY FROM time)`.
pub(super) fn day_of_year() -> ScalarUDF {
    short_form("dayofyear", "DAYOFYEAR(<DATETIME>)", |args| extract(args, 0, "DOY"))
}
