//! Functions of dates and times.

mod arrow_timestamp;
mod convert_tz;
mod date_format;
mod day_of_month;
mod day_of_week;
mod day_of_year;
mod extract;
mod floor_ceil;
mod from_unixtime;
mod hour;
mod instants;
mod legacy_patterns;
mod minute;
mod month;
mod quarter;
mod second;
mod timestamp_add;
mod timestamp_difference;
mod to_date;
mod to_timestamp;
mod to_timestamp_ltz;
mod unix_timestamp;
mod week;
mod year;

use datafusion_expr::ScalarUDF;

pub use arrow_timestamp::arrow_timestamp;
pub use date_format::DateFormat;
pub use extract::extract_udf;
pub use floor_ceil::{FloorCeil, Rounding};
pub(super) use instants::{Instants, session_zone};
pub(super) use timestamp_difference::{add_months, months_between};
pub use to_timestamp::ToTimestamp;

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![
        ScalarUDF::from(DateFormat::default()),
        ScalarUDF::from(FloorCeil::new(Rounding::Floor)),
        ScalarUDF::from(FloorCeil::new(Rounding::Ceil)),
        ScalarUDF::from(ToTimestamp::default()),
        arrow_timestamp(),
        convert_tz::convert_tz(),
        day_of_month::day_of_month(),
        day_of_week::day_of_week(),
        day_of_year::day_of_year(),
        from_unixtime::from_unixtime(),
        hour::hour(),
        minute::minute(),
        month::month(),
        quarter::quarter(),
        second::second(),
        timestamp_add::timestamp_add(),
        timestamp_difference::timestamp_difference(),
        to_date::to_date(),
        to_timestamp_ltz::to_timestamp_ltz(),
        unix_timestamp::unix_timestamp(),
        week::week(),
        year::year(),
        extract_udf(),
    ]
}
