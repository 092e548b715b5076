//! DAYOFWEEK.

use datafusion_expr::ScalarUDF;

use super::extract::{extract, short_form};

/// `DAYOFWEEK(time)`: the day of the week, 1 for Sunday, as `EXTRACT(DOW FROM time)`.
pub(super) fn day_of_week() -> ScalarUDF {
    short_form("dayofweek", "DAYOFWEEK(<DATETIME>)", |args| extract(args, 0, "DOW"))
}
