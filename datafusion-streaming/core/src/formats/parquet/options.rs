//! The options of `parquet`.

use arrow::datatypes::TimeUnit;
use datafusion::common::Result;

use crate::formats::TableOptions;

/// The options of `parquet`, by their names in Flink without the `parquet.` in front. They are those of a sink; a
/// source needs none, since a file tells how it has been written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParquetOptions {
    /// `compression`: of the pages of a file.
    pub compression: ParquetCompression,
    /// `write.int64.timestamp` and `timestamp.time.unit`: how timestamps are stored.
    pub timestamps: ParquetTimestamps,
    /// `block.size`: when a row group is complete, in bytes.
    pub block_size: usize,
    /// `page.size`: when a page is complete, in bytes.
    pub page_size: usize,
    /// `enable.dictionary`: whether values that repeat are stored once.
    pub dictionary: bool,
}

/// How pages are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParquetCompression {
    /// Not at all.
    Uncompressed,
    /// By Snappy, Flink's default.
    Snappy,
}

/// How timestamps are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParquetTimestamps {
    /// Day and nanosecond, in 12 bytes: Flink's default, which holds every TIMESTAMP.
    Int96,
    /// A count of this unit, in 8 bytes. Finer digits are cut off, as in Flink.
    Int64(TimeUnit),
}

impl ParquetOptions {
    /// Reads the options `<format>.…` of a table.
    pub fn try_new(options: &TableOptions<'_>, format: &str) -> Result<Self> {
        let key = |name: &str| format!("{format}.{name}");
        let compressions =
            [("UNCOMPRESSED", ParquetCompression::Uncompressed), ("SNAPPY", ParquetCompression::Snappy)];
        let units = [
            ("millis", TimeUnit::Millisecond),
            ("micros", TimeUnit::Microsecond),
            ("nanos", TimeUnit::Nanosecond),
        ];
        let unit = options.choice(&key("timestamp.time.unit"), &units, TimeUnit::Microsecond)?;
        let utc_key = key("utc-timezone");
        if !options.boolean(&utc_key, true)? {
            return options.invalid(&utc_key, "true, since timestamps never depend on the zone of a machine");
        }
        let size = |name: &str, default: usize| -> Result<usize> {
            let key = key(name);
            match options.memory_size(&key)? {
                None => Ok(default),
                Some(size) => match usize::try_from(size) {
                    Ok(size) if size > 0 => Ok(size),
                    _ => options.invalid(&key, "an amount of memory of at least one byte"),
                },
            }
        };
        Ok(ParquetOptions {
            compression: options.choice(&key("compression"), &compressions, ParquetCompression::Snappy)?,
            timestamps: match options.boolean(&key("write.int64.timestamp"), false)? {
                true => ParquetTimestamps::Int64(unit),
                false => ParquetTimestamps::Int96,
            },
            block_size: size("block.size", 128 << 20)?,
            page_size: size("page.size", 1 << 20)?,
            dictionary: options.boolean(&key("enable.dictionary"), true)?,
        })
    }
}
