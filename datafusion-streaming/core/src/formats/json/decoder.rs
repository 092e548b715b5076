//! Decoding `json`.

use arrow::datatypes::SchemaRef;
use datafusion::common::{Result, plan_datafusion_err};
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, RowKind};

use super::JsonOptions;
use super::columns::ObjectColumns;
use super::text::{Span, escape_control_characters, find_elements};
use crate::formats::column::{Fit, abridged};
use crate::formats::rows::Rows;
use crate::formats::{Decoder, Malformed, ParseErrors, without_line_end};

/// Rows under construction, each from the text of a JSON object.
pub(in crate::formats) struct JsonRows {
    columns: ObjectColumns,
    rows: Rows,
}

impl JsonRows {
    pub(in crate::formats) fn try_new(schema: &SchemaRef, options: &JsonOptions) -> Result<Self> {
        let columns = ObjectColumns::try_new(schema.fields(), "column", options)
            .map_err(|error| plan_datafusion_err!("format json: {error}"))?;
        Ok(JsonRows { columns, rows: Rows::new(SchemaRef::clone(schema), options.ignore_parse_errors) })
    }

    /// Decodes a record (without its line end) by `decode`, which gets its text. A record that is empty
    /// gives nothing. Where errors are ignored, one that cannot be read is counted; `decode` must give
    /// its errors before it appends.
    pub(in crate::formats) fn record(
        &mut self,
        record: &[u8],
        mut decode: impl FnMut(&mut Self, &str) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        let record = without_line_end(record);
        if record.is_empty() {
            return Ok(());
        }
        let result = std::str::from_utf8(record)
            .map_err(|error| Malformed::new(format!("not UTF-8: {error}")))
            .and_then(|text| {
                decode(self, text).or_else(|error| match escape_control_characters(text) {
                    Some(escaped) => decode(self, &escaped),
                    None => Err(error),
                })
            });
        self.rows.settle(result)
    }

    /// Appends the rows of one record: `images`, each the text of an object.
    pub(in crate::formats) fn append(&mut self, images: &[(RowKind, &str)]) -> Result<(), Malformed> {
        let mut fit = Fit::Value;
        for (kind, object) in images {
            if self.columns.append(object)? == Fit::Unfit {
                fit = Fit::Unfit;
            }
            self.rows.push(*kind);
        }
        if fit == Fit::Unfit {
            self.rows.drop_last(images.len());
        }
        Ok(())
    }

    pub(in crate::formats) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(in crate::formats) fn ignored(&self) -> ParseErrors {
        self.rows.ignored(self.columns.ignored())
    }

    pub(in crate::formats) fn finish(&mut self) -> Result<ChangelogBatch> {
        self.rows.finish(self.columns.finish()?)
    }
}

/// Decodes `json`: each line an object, which is a row, or an array of them.
pub(in crate::formats) struct JsonDecoder {
    rows: JsonRows,
    /// Kept for its memory.
    spans: Vec<Span>,
}

impl JsonDecoder {
    pub(in crate::formats) fn try_new(schema: &SchemaRef, options: &JsonOptions) -> Result<Self> {
        Ok(JsonDecoder { rows: JsonRows::try_new(schema, options)?, spans: vec![] })
    }
}

impl Decoder for JsonDecoder {
    fn decode(&mut self, record: &[u8]) -> Result<(), Malformed> {
        let JsonDecoder { rows, spans } = self;
        rows.record(record, |rows, text| {
            if !text.starts_with('[') {
                return rows.append(&[(RowKind::Insert, text)]);
            }
            find_elements(text, spans)?;
            let elements = || spans.iter().filter_map(|span| span.get(text));
            if let Some(other) = elements().find(|element| !element.starts_with('{')) {
                return Err(Malformed::new(format!("{} is no JSON object", abridged(other))));
            }
            elements().try_for_each(|object| rows.append(&[(RowKind::Insert, object)]))
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
