//! IS_ALPHA, IS_DIGIT and IS_DECIMAL.

mod check;
mod is_alpha;
mod is_decimal;
mod is_digit;

use datafusion_expr::ScalarUDF;

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![is_alpha::is_alpha(), is_decimal::is_decimal(), is_digit::is_digit()]
}
