//! The formats by name.

use arrow::datatypes::SchemaRef;
use datafusion::common::{Result, plan_err};

use super::debezium::{DebeziumDecoder, DebeziumOptions};
use super::json::{JsonDecoder, JsonOptions};
use super::options::suggestion;
use super::{Decoder, TableOptions};

/// A format and its options.
#[derive(Debug, Clone, PartialEq)]
pub enum Format {
    /// `json`: a JSON object a line, read as `+I`.
    Json(JsonOptions),
    /// `debezium-json`: the envelopes of Debezium, one a line.
    DebeziumJson(DebeziumOptions),
}

const NAMES: [&str; 2] = ["json", "debezium-json"];

impl Format {
    /// The format that the table's option `format` names, with its options `<format>.…`. An error where
    /// the name is unknown, or a value is not what it should be; unknown keys are found by
    /// [`TableOptions::finish`].
    pub fn try_new(options: &TableOptions<'_>) -> Result<Self> {
        match options.require("format")? {
            "json" => Ok(Format::Json(JsonOptions::try_new(options, "json")?)),
            "debezium-json" => Ok(Format::DebeziumJson(DebeziumOptions::try_new(options, "debezium-json")?)),
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
            Format::DebeziumJson(_) => "debezium-json",
        }
    }

    /// Whether its records can only add rows.
    pub fn is_insert_only(&self) -> bool {
        !matches!(self, Format::DebeziumJson(_))
    }

    /// A decoder of the columns of `schema`, which are found by name and may be any of the table's.
    /// An error names the column whose type the format does not have.
    pub fn decoder(&self, schema: &SchemaRef) -> Result<Box<dyn Decoder>> {
        Ok(match self {
            Format::Json(options) => Box::new(JsonDecoder::try_new(schema, options)?),
            Format::DebeziumJson(options) => Box::new(DebeziumDecoder::try_new(schema, options)?),
        })
    }
}
