//! `parquet`: the files that Flink's filesystem connector writes and reads in this format.
//!
//! | Flink | Parquet |
//! |---|---|
//! | `BOOLEAN` | BOOLEAN |
//! | `TINYINT`, `SMALLINT` | INT32 (INT_8, INT_16) |
//! | `INT`, `BIGINT` | INT32, INT64 |
//! | `FLOAT`, `DOUBLE` | FLOAT, DOUBLE |
//! | `DECIMAL(p, s)` | FIXED_LEN_BYTE_ARRAY (DECIMAL) |
//! | `CHAR`, `VARCHAR`, `STRING` | BYTE_ARRAY (UTF8) |
//! | `BINARY`, `VARBINARY`, `BYTES` | BYTE_ARRAY |
//! | `DATE` | INT32 (DATE) |
//! | `TIME(p)` | INT32 (TIME_MILLIS) |
//! | `TIMESTAMP(p)`, `TIMESTAMP_LTZ(p)` | INT96, or INT64 (TIMESTAMP) by `parquet.write.int64.timestamp` |
//! | `ARRAY`, `MAP`, `ROW` | group (LIST), group (MAP), group |
//! | `MULTISET<t>` | as `MAP<t, INT>` |
//!
//! All columns are optional in the file, also those that are NOT NULL. A table's column is found in a file by its
//! name; one that the file has not is NULL. What other writers make of a type is read where each of its values
//! has a place in the column: narrower integers, decimals of fewer digits, timestamps and times of any unit.
//!
//! Flink's timestamps go through the time zone of the JVM unless `parquet.utc-timezone` is set. Here they never
//! do: files are the same on every machine, and those of a Flink whose zone is UTC.

mod decoder;
mod encoder;
mod from_file;
mod int96;
mod options;
mod schema;
#[cfg(test)]
mod tests;
mod to_file;

use std::fmt::Display;

pub(super) use decoder::ParquetDecoder;
pub(super) use encoder::ParquetEncoder;
pub use options::{ParquetCompression, ParquetOptions, ParquetTimestamps};

use super::Malformed;

/// An error of a library as ours.
fn malformed(error: impl Display) -> Malformed {
    Malformed::new(error.to_string())
}
