//! The format `debezium-json`: change events as Debezium writes them.

use arrow::datatypes::SchemaRef;
use datafusion::common::{Result, plan_err};
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, RowKind};

use super::column::abridged;
use super::json::{FieldNames, JsonObjects, JsonOptions, JsonRows, Span};
use super::{Decoder, Encoder, Malformed, ParseErrors, TableOptions};

/// The options of `debezium-json`, by their names in Flink without the `debezium-json.` in front.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// Encodes `debezium-json`: an event for each row. As in Flink, a retraction is the deletion of the old row
/// and an update after it the creation of the new one, since a stream does not tell which belong together.
pub(super) struct DebeziumEncoder {
    objects: JsonObjects,
}

impl DebeziumEncoder {
    pub(super) fn try_new(table: &str, schema: &SchemaRef, options: &DebeziumOptions) -> Result<Self> {
        if options.schema_include {
            return plan_err!(
                "table '{table}' is written to, and the format debezium-json writes no schemas; \
                 set 'debezium-json.schema-include' to false"
            );
        }
        Ok(DebeziumEncoder { objects: JsonObjects::try_new(schema, &options.json)? })
    }
}

impl Encoder for DebeziumEncoder {
    fn encode(&mut self, changes: &ChangelogBatch, out: &mut Vec<u8>) -> Result<()> {
        let write = self.objects.writer(changes.batch())?;
        for row in 0..changes.num_rows() {
            let (before, after) = match changes.kind(row) {
                RowKind::Insert | RowKind::UpdateAfter => ("{\"before\":null,\"after\":", ",\"op\":\"c\"}\n"),
                RowKind::UpdateBefore | RowKind::Delete => {
                    ("{\"before\":", ",\"after\":null,\"op\":\"d\"}\n")
                }
            };
            out.extend_from_slice(before.as_bytes());
            write(row, out)?;
            out.extend_from_slice(after.as_bytes());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion_streaming_physical_plan::changelog::pretty::changelog_lines;

    use super::*;
    use crate::formats::Format;
    use crate::formats::json::tests::{format, round_trip};

    fn debezium(options: &[(&str, &str)]) -> Format {
        format(&[&[("format", "debezium-json")], options].concat()).unwrap()
    }

    fn schema() -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("id", DataType::Int32, false),
            Field::new("s", DataType::Utf8, true),
        ]))
    }

    fn decoder(options: &[(&str, &str)]) -> Box<dyn Decoder> {
        debezium(options).decoder(&schema(), None).unwrap().records()
    }

    const EVENTS: [&str; 4] = [
        r#"{"before":null,"after":{"id":1,"s":"a"},"op":"c","ts_ms":1,"source":{"db":"x"}}"#,
        r#"{"op":"r","after":{"s":null,"id":2}}"#,
        r#"{"before":{"id":1,"s":"a"},"after":{"id":1,"s":"b"},"op":"u"}"#,
        r#"{"before":{"id":2},"after":null,"op":"d"}"#,
    ];

    const CHANGES: [&str; 5] = ["+I 1 a", "+I 2 NULL", "-U 1 a", "+U 1 b", "-D 2 NULL"];

    #[test]
    fn events_are_changes() {
        let mut decoder = decoder(&[]);
        EVENTS.iter().for_each(|event| decoder.decode(event.as_bytes()).unwrap());
        decoder.decode(b"").unwrap();
        assert_eq!(decoder.rows(), 5);
        assert_eq!(changelog_lines([&decoder.finish().unwrap()]).unwrap(), CHANGES);
    }

    #[test]
    fn with_schema_include_the_event_is_the_payload() {
        let mut decoder = decoder(&[("debezium-json.schema-include", "true")]);
        for event in EVENTS {
            let record = format!("{{\"schema\":{{\"fields\":[]}},\"payload\":{event}}}");
            decoder.decode(record.as_bytes()).unwrap();
        }
        assert_eq!(changelog_lines([&decoder.finish().unwrap()]).unwrap(), CHANGES);
        let error = decoder.decode(EVENTS[0].as_bytes()).unwrap_err().to_string();
        assert!(error.contains("'payload'"), "{error}");
    }

    #[test]
    fn events_that_are_not_complete_are_errors() {
        for (event, what) in [
            (r#"{"before":null,"after":{"id":1},"op":"u"}"#, "REPLICA IDENTITY"),
            (r#"{"after":{"id":1},"op":"d"}"#, "\"before\" is null"),
            (r#"{"before":{"id":1},"after":null,"op":"u"}"#, "\"after\" is null"),
            (r#"{"before":null,"after":5,"op":"c"}"#, "\"after\" is no object"),
            (r#"{"before":null,"after":{"id":1},"op":"x"}"#, "unknown \"op\" \"x\""),
            (r#"{"before":null,"after":{"id":1}}"#, "no \"op\""),
            (r#"{"before":null,"after":{"id":"x"},"op":"c"}"#, "column 'id'"),
            (r#"{"before":null,"after":{"s":"x"},"op":"c"}"#, "NOT NULL"),
            ("{", "EOF"),
        ] {
            let error = decoder(&[]).decode(event.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(what), "{event}: {error}");
        }
    }

    #[test]
    fn what_is_wrong_is_passed_over_on_request_a_whole_event_at_a_time() {
        let mut decoder = decoder(&[("debezium-json.ignore-parse-errors", "true")]);
        for event in [
            EVENTS[0],
            "xx",
            r#"{"before":null,"after":null,"op":"d"}"#,
            r#"{"before":{"id":1},"after":5,"op":"u"}"#,
            // Its -U alone would be right, but an update without its other half is not
            r#"{"before":{"id":1,"s":"a"},"after":{"id":null},"op":"u"}"#,
            EVENTS[1],
        ] {
            decoder.decode(event.as_bytes()).unwrap();
        }
        assert_eq!(changelog_lines([&decoder.finish().unwrap()]).unwrap(), CHANGES[..2]);
        assert_eq!(decoder.ignored().records, 4);
    }

    #[test]
    fn an_update_is_written_as_a_deletion_and_a_creation() {
        let mut decoder = decoder(&[]);
        EVENTS.iter().for_each(|event| decoder.decode(event.as_bytes()).unwrap());
        let (text, again) = round_trip(&debezium(&[]), &decoder.finish().unwrap());
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                r#"{"before":null,"after":{"id":1,"s":"a"},"op":"c"}"#,
                r#"{"before":null,"after":{"id":2,"s":null},"op":"c"}"#,
                r#"{"before":{"id":1,"s":"a"},"after":null,"op":"d"}"#,
                r#"{"before":null,"after":{"id":1,"s":"b"},"op":"c"}"#,
                r#"{"before":{"id":2,"s":null},"after":null,"op":"d"}"#,
            ]
        );
        assert_eq!(
            changelog_lines([&again]).unwrap(),
            ["+I 1 a", "+I 2 NULL", "-D 1 a", "+I 1 b", "-D 2 NULL"]
        );
    }

    #[test]
    fn schemas_cannot_be_written() {
        let format = debezium(&[("debezium-json.schema-include", "true")]);
        let error = format.encoder("sink", &schema()).err().unwrap().to_string();
        assert!(error.contains("'sink'") && error.contains("debezium-json.schema-include"), "{error}");
    }
}
