//! Flink's scalar and aggregate functions for DataFusion.
//!
//! - [`aggregate`]: aggregate functions whose state is typed columns indexed by group slot. One
//!   implementation serves DataFusion's batch aggregation, the streaming aggregation with
//!   retraction, and the windows.
//! - [`common_type`]: the types to which values are widened.
//! - [`scalar`]: Flink's scalar functions, one a file.
//! - [`datetime`]: the calendar, zones and Java's patterns.
//! - [`decimal`]: Flink's arithmetic on DECIMAL.
//! - [`floats`]: the digits of FLOAT and DOUBLE.
//! - [`json`]: values as JSON.
//! - [`timestamps`]: how timestamps are held.
//! - [`types`]: Flink's names of Arrow types.

pub mod aggregate;
pub mod common_type;
pub mod datetime;
pub mod decimal;
pub mod floats;
pub mod json;
pub mod scalar;
pub mod timestamps;
pub mod types;
