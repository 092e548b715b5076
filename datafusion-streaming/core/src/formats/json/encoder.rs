//! Encoding `json`.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Fields, SchemaRef};
use datafusion::common::{Result, exec_datafusion_err, plan_datafusion_err, plan_err};
use datafusion_streaming_physical_plan::changelog::ChangelogBatch;

use super::JsonOptions;
use crate::formats::Encoder;
use crate::formats::cell::{Cell, CellWriter, scalar_cell};
use crate::formats::insert_only;

/// Writes rows as JSON objects, each column a field.
#[derive(Debug)]
pub(in crate::formats) struct JsonObjects {
    options: JsonOptions,
}

impl JsonObjects {
    /// An error names the column whose type has no JSON form.
    pub(in crate::formats) fn try_new(schema: &SchemaRef, options: &JsonOptions) -> Result<Self> {
        let objects = JsonObjects { options: options.clone() };
        let empty = RecordBatch::new_empty(SchemaRef::clone(schema));
        drop(objects.writer(&empty)?);
        Ok(objects)
    }

    /// What writes the rows of a batch.
    pub(in crate::formats) fn writer<'a>(&'a self, batch: &'a RecordBatch) -> Result<CellWriter<'a>> {
        object_writer(batch.schema_ref().fields(), batch.columns(), &self.options)
    }
}

/// Encodes `json`: a line for each row, which must be an insertion.
pub(in crate::formats) struct JsonEncoder {
    table: String,
    objects: JsonObjects,
}

impl JsonEncoder {
    pub(in crate::formats) fn try_new(
        table: &str,
        schema: &SchemaRef,
        options: &JsonOptions,
    ) -> Result<Self> {
        Ok(JsonEncoder { table: table.to_string(), objects: JsonObjects::try_new(schema, options)? })
    }
}

impl Encoder for JsonEncoder {
    fn encode(&mut self, changes: &ChangelogBatch, out: &mut Vec<u8>) -> Result<()> {
        insert_only(&self.table, "json", changes)?;
        let write = self.objects.writer(changes.batch())?;
        for row in 0..changes.num_rows() {
            write(row, out)?;
            out.push(b'\n');
        }
        Ok(())
    }
}

/// Writes the values of `columns` as the fields of an object.
fn object_writer<'a>(
    fields: &Fields,
    columns: &'a [ArrayRef],
    options: &'a JsonOptions,
) -> Result<CellWriter<'a>> {
    let mut parts = vec![];
    for (field, column) in fields.iter().zip(columns) {
        let mut name = vec![];
        write_string(field.name(), &mut name)?;
        name.push(b':');
        let value = value_writer(column, options).map_err(|error| {
            plan_datafusion_err!("column '{}': {}", field.name(), error.strip_backtrace())
        })?;
        parts.push((name, column, value));
    }
    Ok(Box::new(move |row, out| {
        out.push(b'{');
        let start = out.len();
        for (name, column, value) in &parts {
            if options.ignore_null_fields && column.is_null(row) {
                continue;
            }
            if out.len() > start {
                out.push(b',');
            }
            out.extend_from_slice(name);
            value(row, out)?;
        }
        out.push(b'}');
        Ok(())
    }))
}

/// Writes the values of an array, NULL as `null`.
fn value_writer<'a>(array: &'a dyn Array, options: &'a JsonOptions) -> Result<CellWriter<'a>> {
    let write = not_null_writer(array, options)?;
    if array.null_count() == 0 {
        return Ok(write);
    }
    Ok(Box::new(move |row, out| {
        if array.is_null(row) {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        write(row, out)
    }))
}

fn not_null_writer<'a>(array: &'a dyn Array, options: &'a JsonOptions) -> Result<CellWriter<'a>> {
    match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let element = value_writer(list.values(), options)?;
            let offsets = list.value_offsets();
            Ok(Box::new(move |row, out| {
                out.push(b'[');
                for at in offsets[row]..offsets[row + 1] {
                    if at > offsets[row] {
                        out.push(b',');
                    }
                    element(at as usize, out)?;
                }
                out.push(b']');
                Ok(())
            }))
        }
        DataType::Map(_, _) => map_writer(array, options),
        DataType::Struct(fields) => object_writer(fields, array.as_struct().columns(), options),
        other => match scalar_cell(array, options.timestamp_standard, options.plain_decimals) {
            Some(Cell::Literal(write)) => Ok(write),
            Some(Cell::Text(write)) => Ok(quoted(write)),
            Some(Cell::String(strings)) => Ok(Box::new(|row, out| write_string(strings.value(row), out))),
            Some(Cell::Float(write, is_finite)) => Ok(Box::new(move |row, out| {
                if is_finite(row) {
                    return write(row, out);
                }
                out.push(b'"');
                write(row, out)?;
                out.push(b'"');
                Ok(())
            })),
            None => plan_err!("its type {other} has no JSON form"),
        },
    }
}

fn quoted(write: CellWriter<'_>) -> CellWriter<'_> {
    Box::new(move |row, out| {
        out.push(b'"');
        write(row, out)?;
        out.push(b'"');
        Ok(())
    })
}

fn map_writer<'a>(array: &'a dyn Array, options: &'a JsonOptions) -> Result<CellWriter<'a>> {
    let map = array.as_map();
    let Some(keys) = map.keys().as_string_opt::<i32>() else {
        return plan_err!(
            "the keys of JSON objects are strings, so a MAP or MULTISET of {} has no JSON form",
            map.keys().data_type()
        );
    };
    let value = value_writer(map.values(), options)?;
    let offsets = map.value_offsets();
    Ok(Box::new(move |row, out| {
        out.push(b'{');
        let (start, end) = (offsets[row] as usize, offsets[row + 1] as usize);
        for at in start..end {
            if at > start {
                out.push(b',');
            }
            write_string(keys.value(at), out)?;
            out.push(b':');
            value(at, out)?;
        }
        out.push(b'}');
        Ok(())
    }))
}

fn write_string(string: &str, out: &mut Vec<u8>) -> Result<()> {
    serde_json::to_writer(out, string).map_err(|error| exec_datafusion_err!("{error}"))
}
