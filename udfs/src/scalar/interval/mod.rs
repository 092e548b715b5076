//! Intervals, and operators on them that are planned as functions.

mod difference;
mod interval_of;
mod overlaps;
mod product;
mod shift;
mod value;

use datafusion_expr::ScalarUDF;

pub use product::interval_times;
pub use shift::Shift;
pub(super) use value::{MONTHS, is_interval, write_interval};

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![
        ScalarUDF::from(difference::Difference::default()),
        ScalarUDF::from(interval_of::IntervalOf::default()),
        interval_times(),
        overlaps::overlaps(),
        ScalarUDF::from(Shift::new(false)),
        ScalarUDF::from(Shift::new(true)),
    ]
}
