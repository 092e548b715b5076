//! Dates and times as Flink computes with them: the calendar, the session's zone, and Java's patterns.

mod calendar;
mod legacy;
mod legacy_read;
mod parse;
mod pattern;
mod print;
mod units;
mod zone;

pub use calendar::{Date, LocalDateTime};
pub use legacy::{LegacyPattern, parse_lenient};
pub use legacy_read::ReadTime;
pub use parse::{parse_date, parse_sql_timestamp, parse_timestamp};
pub use pattern::Pattern;
pub use print::write_date_time;
pub use units::{TimeUnitRange, ceil, ceil_date, floor, floor_date};
pub use zone::LocalZone;

/// The milliseconds of a day.
pub const MILLIS_PER_DAY: i64 = 86_400_000;

/// The nanoseconds of a day.
pub const NANOS_PER_DAY: i64 = MILLIS_PER_DAY * 1_000_000;
