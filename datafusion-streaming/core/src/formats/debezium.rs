//! The format `debezium-json`: change events as Debezium writes them.

use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, RowKind};

use super::column::abridged;
use super::json::{FieldNames, JsonOptions, JsonRows, Span};
use super::{Decoder, Malformed, ParseErrors, TableOptions};

/// The options of `debezium-json`, by their names in Flink without the `debezium-json.` in front.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DebeziumOptions {
    /// `schema-include`: the event is the field `payload` of each record, beside its `schema`.
    pub schema_include: bool,
    /// How the images of the rows are read and written.
    pub json: JsonOptions,
}

impl DebeziumOptions {
    /// Reads the options `<format>.…` of a table.
    pub fn try_new(options: &TableOptions<'_>, format: &str) -> Result<Self> {
        Ok(DebeziumOptions {
            schema_include: options.boolean(&format!("{format}.schema-include"), false)?,
            json: JsonOptions::common(options, format)?,
        })
    }
}

/// Decodes `debezium-json`: op `c` and `r` give `+I`, `u` gives `-U` and `+U`, `d` gives `-D`.
pub(super) struct DebeziumDecoder {
    payload: Option<FieldNames>,
    event: FieldNames,
    rows: JsonRows,
    spans: Vec<Span>,
}

const BEFORE: usize = 0;
const AFTER: usize = 1;
const OP: usize = 2;

impl DebeziumDecoder {
    pub(super) fn try_new(schema: &SchemaRef, options: &DebeziumOptions) -> Result<Self> {
        Ok(DebeziumDecoder {
            payload: options.schema_include.then(|| FieldNames::new(["payload"])),
            event: FieldNames::new(["before", "after", "op"]),
            rows: JsonRows::try_new(schema, &options.json)?,
            spans: vec![],
        })
    }
}

impl Decoder for DebeziumDecoder {
    fn decode(&mut self, record: &[u8]) -> Result<(), Malformed> {
        let DebeziumDecoder { payload, event, rows, spans } = self;
        rows.record(record, |rows, text| {
            let mut text = text;
            if let Some(payload) = payload {
                payload.find(text, spans)?;
                text = spans[0].get(text).ok_or_else(|| {
                    Malformed::new(format!("there is no field 'payload' in {}", abridged(text)))
                })?;
            }
            event.find(text, spans)?;
            let part = |index: usize| spans[index].get(text).filter(|part| *part != "null");
            let image = |index: usize, op: &str| image(part(index), event.name(index), op);
            match part(OP).map(|op| op.trim_matches('"')) {
                Some(op @ ("c" | "r")) => rows.append(&[(RowKind::Insert, image(AFTER, op)?)]),
                Some(op @ "u") => {
                    let (before, after) = (image(BEFORE, op)?, image(AFTER, op)?);
                    rows.append(&[(RowKind::UpdateBefore, before), (RowKind::UpdateAfter, after)])
                }
                Some(op @ "d") => rows.append(&[(RowKind::Delete, image(BEFORE, op)?)]),
                Some(op) => Err(Malformed::new(format!("unknown \"op\" \"{op}\" in {}", abridged(text)))),
                None => Err(Malformed::new(format!("there is no \"op\" in {}", abridged(text)))),
            }
        })
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn ignored(&self) -> ParseErrors {
        self.rows.ignored()
    }

    fn finish(&mut self) -> Result<ChangelogBatch> {
        self.rows.finish()
    }
}

/// The text of the row before or after a change, which must be an object.
fn image<'a>(part: Option<&'a str>, name: &str, op: &str) -> Result<&'a str, Malformed> {
    match part {
        Some(image) if image.starts_with('{') => Ok(image),
        Some(other) => Err(Malformed::new(format!("\"{name}\" is no object: {}", abridged(other)))),
        None if name == "before" => Err(Malformed::new(format!(
            "\"before\" is null in a message of op \"{op}\"; if it comes from Debezium's Postgres connector, \
             set the REPLICA IDENTITY of the table to FULL"
        ))),
        None => Err(Malformed::new(format!("\"{name}\" is null in a message of op \"{op}\""))),
    }
}
