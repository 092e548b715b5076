//! The formats by name.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::{Result, plan_err};

use super::csv::{CsvDecoder, CsvEncoder, CsvOptions};
use super::debezium::{DebeziumDecoder, DebeziumEncoder, DebeziumOptions};
use super::json::{JsonDecoder, JsonEncoder, JsonOptions};
use super::options::suggestion;
#[cfg(feature = "parquet")]
use super::parquet::{ParquetDecoder, ParquetEncoder, ParquetOptions};
use super::{Decoder, Encoder, FileDecoder, TableOptions};

/// A format and its options.
#[derive(Debug, Clone, PartialEq)]
pub enum Format {
    /// `json`: a JSON object a line, read as `+I`.
    Json(JsonOptions),
    /// `csv`: RFC 4180, read as `+I`.
    Csv(CsvOptions),
    /// `debezium-json`: the envelopes of Debezium, one a line.
    DebeziumJson(DebeziumOptions),
    /// `parquet`: Parquet files as Flink's, read as `+I`.
    #[cfg(feature = "parquet")]
    Parquet(ParquetOptions),
}

const NAMES: [&str; 4] = ["json", "csv", "debezium-json", "parquet"];

impl Format {
    /// The format that the table's option `format` names, with its options `<format>.…`. An error where
    /// the name is unknown, or a value is not what it should be; unknown keys are found by
    /// [`TableOptions::finish`].
    pub fn try_new(options: &TableOptions<'_>) -> Result<Self> {
        match options.require("format")? {
            "json" => Ok(Format::Json(JsonOptions::try_new(options, "json")?)),
            "csv" => Ok(Format::Csv(CsvOptions::try_new(options, "csv")?)),
            "debezium-json" => Ok(Format::DebeziumJson(DebeziumOptions::try_new(options, "debezium-json")?)),
            #[cfg(feature = "parquet")]
            "parquet" => Ok(Format::Parquet(ParquetOptions::try_new(options, "parquet")?)),
            #[cfg(not(feature = "parquet"))]
            "parquet" => plan_err!(
                "table '{}' has the format 'parquet', which this build has not; enable the cargo feature 'parquet' \
                 of the crate datafusion-streaming",
                options.table()
            ),
            other => plan_err!(
                "table '{}' has the unknown format '{other}'; {}",
                options.table(),
                suggestion(other, NAMES.into_iter())
            ),
        }
    }

    /// The name, as in `'format' = '…'`.
    pub fn name(&self) -> &'static str {
        match self {
            Format::Json(_) => "json",
            Format::Csv(_) => "csv",
            Format::DebeziumJson(_) => "debezium-json",
            #[cfg(feature = "parquet")]
            Format::Parquet(_) => "parquet",
        }
    }

    /// Whether its records can only add rows.
    pub fn is_insert_only(&self) -> bool {
        !matches!(self, Format::DebeziumJson(_))
    }

    /// A decoder of some of the columns of a table, in the order of `projection`. `physical` has all the
    /// columns of the files: those of the table that are neither computed nor metadata. An error names the
    /// column whose type the format does not have.
    pub fn decoder(&self, physical: &SchemaRef, projection: Option<&[usize]>) -> Result<FileDecoder> {
        let all: Vec<usize> = (0..physical.fields().len()).collect();
        let projection = projection.unwrap_or(&all);
        let schema = Arc::new(physical.project(projection)?);
        let records: Box<dyn Decoder> = match self {
            Format::Json(options) => Box::new(JsonDecoder::try_new(&schema, options)?),
            Format::Csv(options) => Box::new(CsvDecoder::try_new(all.len(), &schema, projection, options)?),
            Format::DebeziumJson(options) => Box::new(DebeziumDecoder::try_new(&schema, options)?),
            #[cfg(feature = "parquet")]
            Format::Parquet(_) => return Ok(FileDecoder::Bulk(Box::new(ParquetDecoder::try_new(&schema)?))),
        };
        Ok(FileDecoder::Records(records))
    }

    /// An encoder of the rows that are inserted into a table. An error names the column whose type the format
    /// does not have.
    pub fn encoder(&self, table: &str, schema: &SchemaRef) -> Result<Box<dyn Encoder>> {
        Ok(match self {
            Format::Json(options) => Box::new(JsonEncoder::try_new(table, schema, options)?),
            Format::Csv(options) => Box::new(CsvEncoder::try_new(table, schema, options)?),
            Format::DebeziumJson(options) => Box::new(DebeziumEncoder::try_new(table, schema, options)?),
            #[cfg(feature = "parquet")]
            Format::Parquet(options) => Box::new(ParquetEncoder::try_new(table, schema, options)?),
        })
    }
}
