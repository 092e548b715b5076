//! Decoding `csv`.

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::{Result, plan_datafusion_err};
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, RowKind};

use super::CsvOptions;
use super::columns::csv_column;
use super::record::{Dialect, FieldTexts};
use crate::formats::column::{Column, FieldColumn, Fit, Value};
use crate::formats::rows::Rows;
use crate::formats::{Decoder, Malformed, ParseErrors, without_line_end};

/// Decodes `csv`: each record a row, its fields in the order of the table's columns.
pub(in crate::formats) struct CsvDecoder {
    dialect: Dialect,
    null_literal: Option<String>,
    lenient: bool,
    /// The number of fields of a record.
    arity: usize,
    columns: Vec<RecordColumn>,
    rows: Rows,
    /// Kept for its memory.
    fields: FieldTexts,
}

struct RecordColumn {
    /// The index of its field.
    field: usize,
    /// Whether it has elements, in which the null literal is looked for, not in the whole.
    nested: bool,
    column: FieldColumn,
}

impl CsvDecoder {
    /// A decoder of the columns of `schema`, which are the fields `projection` of records of `arity` fields.
    pub(in crate::formats) fn try_new(
        arity: usize,
        schema: &SchemaRef,
        projection: &[usize],
        options: &CsvOptions,
    ) -> Result<Self> {
        let columns = schema.fields().iter().zip(projection).map(|(field, index)| {
            let column =
                csv_column(field, options).map_err(|error| plan_datafusion_err!("format csv: {error}"))?;
            let nested = matches!(field.data_type(), DataType::List(_) | DataType::Struct(_));
            Ok(RecordColumn { field: *index, nested, column })
        });
        Ok(CsvDecoder {
            dialect: Dialect::new(options),
            null_literal: options.null_literal.clone(),
            lenient: options.ignore_parse_errors,
            arity,
            columns: columns.collect::<Result<_>>()?,
            rows: Rows::new(SchemaRef::clone(schema), options.ignore_parse_errors),
            fields: FieldTexts::default(),
        })
    }

    fn append(&mut self, record: &[u8]) -> Result<(), Malformed> {
        let record =
            std::str::from_utf8(record).map_err(|error| Malformed::new(format!("not UTF-8: {error}")))?;
        self.dialect.split(record, &mut self.fields)?;
        self.check_arity()?;
        let mut row = Fit::Value;
        for RecordColumn { field, nested, column } in &mut self.columns {
            let text =
                self.fields.get(*field).filter(|text| *nested || self.null_literal.as_deref() != Some(text));
            let put =
                column.put(text.map(|text| move |column: &mut dyn Column| column.append(Value::Text(text))));
            if put? == Fit::Unfit {
                row = Fit::Unfit;
            }
        }
        self.rows.push(RowKind::Insert);
        if row == Fit::Unfit {
            self.rows.drop_last(1);
        }
        Ok(())
    }

    /// A record may end in a delimiter; otherwise it has as many fields as the table. Fields that are missing
    /// can be NULL where errors are ignored, but not what is too much.
    fn check_arity(&self) -> Result<(), Malformed> {
        let len = self.fields.len();
        let trailing_delimiter = len == self.arity + 1 && self.fields.get(self.arity) == Some("");
        if len == self.arity || trailing_delimiter || (len < self.arity && self.lenient) {
            return Ok(());
        }
        Err(Malformed::new(format!("the table has {} fields, but the record {len}", self.arity)))
    }
}

impl Decoder for CsvDecoder {
    fn next_record(&self, input: &[u8]) -> Option<usize> {
        self.dialect.record_len(input)
    }

    fn decode(&mut self, record: &[u8]) -> Result<(), Malformed> {
        let record = without_line_end(record);
        if self.dialect.is_skipped(record) {
            return Ok(());
        }
        let result = self.append(record);
        self.rows.settle(result)
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn ignored(&self) -> ParseErrors {
        self.rows.ignored(self.columns.iter().map(|column| column.column.ignored()).sum())
    }

    fn finish(&mut self) -> Result<ChangelogBatch> {
        let columns =
            self.columns.iter_mut().map(|column| column.column.finish()).collect::<Result<_, _>>()?;
        self.rows.finish(columns)
    }
}
