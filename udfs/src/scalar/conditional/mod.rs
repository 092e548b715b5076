//! Functions that choose among their arguments.

mod coalesce;
mod greatest;
mod if_function;
mod if_null;
mod least;
mod null_if;
mod pick;

use datafusion_expr::ScalarUDF;

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![
        coalesce::coalesce(),
        greatest::greatest(),
        if_function::if_(),
        if_null::if_null(),
        least::least(),
        null_if::null_if(),
    ]
}
