//! Encoding `csv`.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion_streaming_physical_plan::changelog::ChangelogBatch;

use super::CsvOptions;
use crate::formats::cell::{Cell, CellWriter, scalar_cell};
use crate::formats::time::TimestampStandard;
use crate::formats::{Encoder, insert_only};

/// A text of more characters is quoted unseen, as Jackson does.
const MAX_QUOTE_CHECK: usize = 24;

/// Encodes `csv`: a record for each row, which must be an insertion.
pub(in crate::formats) struct CsvEncoder {
    table: String,
    options: CsvOptions,
    /// A field under construction, kept for its memory.
    field: Vec<u8>,
}

impl CsvEncoder {
    pub(in crate::formats) fn try_new(table: &str, schema: &SchemaRef, options: &CsvOptions) -> Result<Self> {
        let encoder = CsvEncoder { table: table.to_string(), options: options.clone(), field: vec![] };
        let empty = RecordBatch::new_empty(SchemaRef::clone(schema));
        for (field, column) in schema.fields().iter().zip(empty.columns()) {
            if field_writer(column, options).is_none() {
                return plan_err!(
                    "column '{}' of table '{table}': its type {} has no CSV form",
                    field.name(),
                    field.data_type()
                );
            }
        }
        Ok(encoder)
    }
}

impl Encoder for CsvEncoder {
    fn encode(&mut self, changes: &ChangelogBatch, out: &mut Vec<u8>) -> Result<()> {
        insert_only(&self.table, "csv", changes)?;
        let CsvEncoder { table, options, field } = self;
        let columns = changes.batch().columns();
        let writers: Vec<_> = columns.iter().filter_map(|column| field_writer(column, options)).collect();
        for row in 0..changes.num_rows() {
            for (index, (column, writer)) in columns.iter().zip(&writers).enumerate() {
                if index > 0 {
                    push_char(options.field_delimiter, out);
                }
                if column.is_null(row) {
                    out.extend_from_slice(null_literal(options));
                    continue;
                }
                match writer {
                    FieldWriter::Literal(write) => write(row, out)?,
                    FieldWriter::Text(write) => {
                        field.clear();
                        write(row, field)?;
                        write_text(table, field, options, out)?;
                    }
                }
            }
            out.push(b'\n');
        }
        Ok(())
    }
}

fn null_literal(options: &CsvOptions) -> &[u8] {
    options.null_literal.as_deref().unwrap_or_default().as_bytes()
}

fn push_char(character: char, out: &mut Vec<u8>) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// How the fields of a column, where they are not NULL, are written.
enum FieldWriter<'a> {
    /// Never quoted.
    Literal(CellWriter<'a>),
    /// Quoted where need be.
    Text(CellWriter<'a>),
}

fn field_writer<'a>(array: &'a dyn Array, options: &'a CsvOptions) -> Option<FieldWriter<'a>> {
    match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let element = element_writer(list.values(), options)?;
            let offsets = list.value_offsets();
            Some(FieldWriter::Text(Box::new(move |row, out| {
                for at in offsets[row]..offsets[row + 1] {
                    if at > offsets[row] {
                        out.extend_from_slice(options.array_element_delimiter.as_bytes());
                    }
                    element(at as usize, out)?;
                }
                Ok(())
            })))
        }
        DataType::Struct(_) => {
            let columns = array.as_struct().columns();
            let fields: Vec<_> =
                columns.iter().map(|column| element_writer(column, options)).collect::<Option<_>>()?;
            Some(FieldWriter::Text(Box::new(move |row, out| {
                for (index, field) in fields.iter().enumerate() {
                    if index > 0 {
                        out.extend_from_slice(options.array_element_delimiter.as_bytes());
                    }
                    field(row, out)?;
                }
                Ok(())
            })))
        }
        _ => Some(match scalar_cell(array, TimestampStandard::Sql, !options.scientific_decimals)? {
            Cell::Literal(write) | Cell::Float(write, _) => FieldWriter::Literal(write),
            Cell::Text(write) => FieldWriter::Text(write),
            Cell::String(strings) => FieldWriter::Text(Box::new(|row, out| {
                out.extend_from_slice(strings.value(row).as_bytes());
                Ok(())
            })),
        }),
    }
}

/// Writes the elements of an array or a row, which are scalars.
fn element_writer<'a>(array: &'a dyn Array, options: &'a CsvOptions) -> Option<CellWriter<'a>> {
    if array.data_type().is_nested() {
        return None;
    }
    let (FieldWriter::Literal(write) | FieldWriter::Text(write)) = field_writer(array, options)?;
    Some(Box::new(move |row, out| {
        if array.is_null(row) {
            out.extend_from_slice(null_literal(options));
            return Ok(());
        }
        write(row, out)
    }))
}

/// Writes a text, in quotes where it may need them.
fn write_text(table: &str, text: &[u8], options: &CsvOptions, out: &mut Vec<u8>) -> Result<()> {
    let text = std::str::from_utf8(text).unwrap_or_default();
    let (delimiter, escape) = (options.field_delimiter, options.escape_character);
    let Some(quote) = options.quote_character else {
        return write_unquoted(table, text, options, out);
    };
    // All that matters sorts before one of these; Jackson looks no closer
    let safe = delimiter.max(quote).max('\r').max(escape.unwrap_or('\0'));
    let needs_quotes = text.chars().nth(MAX_QUOTE_CHECK).is_some() || text.chars().any(|c| c <= safe);
    if !needs_quotes {
        out.extend_from_slice(text.as_bytes());
        return Ok(());
    }
    push_char(quote, out);
    for character in text.chars() {
        if character == quote {
            push_char(quote, out);
        } else if Some(character) == escape {
            push_char(character, out);
        }
        push_char(character, out);
    }
    push_char(quote, out);
    Ok(())
}

/// Writes a text where quotes are disabled: what would end the field is escaped if there is a character for it.
fn write_unquoted(table: &str, text: &str, options: &CsvOptions, out: &mut Vec<u8>) -> Result<()> {
    for character in text.chars() {
        let special = character == options.field_delimiter || matches!(character, '\n' | '\r');
        match options.escape_character {
            Some(escape) if special || character == escape => {
                push_char(escape, out);
                push_char(
                    match character {
                        '\n' => 'n',
                        '\r' => 'r',
                        other => other,
                    },
                    out,
                );
            }
            None if special => {
                return exec_err!(
                    "table '{table}': '{text}' has a delimiter or line end in it, which cannot be written without \
                     'csv.quote-character' and 'csv.escape-character'"
                );
            }
            _ => push_char(character, out),
        }
    }
    Ok(())
}
