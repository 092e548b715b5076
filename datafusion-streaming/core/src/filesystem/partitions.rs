//! Tables `PARTITIONED BY` columns: their values stand in the names of folders, not in the files.
//!
//! ```text
//! <path>/day=2024-01-01/region=eu/part-…
//! ```
//!
//! As in Flink and Hive, characters that a folder name cannot have are written as `%` and two digits, and NULL and
//! the empty string as `__DEFAULT_PARTITION__` (`'partition.default-name'`).

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, StringArray, new_null_array};
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::{Result, ScalarValue, exec_datafusion_err, plan_err};
use object_store::path::Path;

/// The partition columns of a table.
#[derive(Debug, Clone)]
pub struct PartitionColumns {
    /// All columns of the table.
    physical: SchemaRef,
    /// The partition columns, by their index in it.
    columns: Vec<usize>,
    default_name: String,
}

impl PartitionColumns {
    /// The columns `names` of a table with the columns `physical`; an error where a value of one has no text.
    pub fn try_new(table: &str, physical: &SchemaRef, names: &[String], default_name: &str) -> Result<Self> {
        let mut columns = vec![];
        for name in names {
            let column = physical.index_of(name)?;
            let data_type = physical.field(column).data_type();
            if data_type.is_nested() || data_type.is_binary() {
                return plan_err!(
                    "table {table} cannot be partitioned by {name}: a value of type {data_type} makes no folder name"
                );
            }
            columns.push(column);
        }
        if columns.len() == physical.fields().len() {
            return plan_err!("table {table} is partitioned by all its columns; leave one for the files");
        }
        Ok(PartitionColumns {
            physical: Arc::clone(physical),
            columns,
            default_name: default_name.to_string(),
        })
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The partition columns, by their index in the table.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The types of the partition columns.
    pub fn types(&self) -> Vec<DataType> {
        self.columns.iter().map(|column| self.physical.field(*column).data_type().clone()).collect()
    }

    /// The other columns, by their index in the table.
    pub fn file_columns(&self) -> Vec<usize> {
        (0..self.physical.fields().len()).filter(|column| !self.columns.contains(column)).collect()
    }

    /// The columns that the files have.
    pub fn file_schema(&self) -> Result<SchemaRef> {
        Ok(Arc::new(self.physical.project(&self.file_columns())?))
    }

    /// The folders of one row of the partition columns, each in the one before it.
    pub fn folders(&self, values: &[ArrayRef], row: usize) -> Result<Vec<String>> {
        let folder = |(column, values): (&usize, &ArrayRef)| -> Result<String> {
            let text = cast(&values.slice(row, 1), &DataType::Utf8)?;
            let text = text.as_string::<i32>();
            let name = escaped(self.physical.field(*column).name());
            Ok(match text.is_null(0) || text.value(0).is_empty() {
                true => format!("{name}={}", self.default_name),
                false => format!("{name}={}", escaped(text.value(0))),
            })
        };
        self.columns.iter().zip(values).map(folder).collect()
    }

    /// The values of the partition columns that the path of a file below `root` tells, or what is wrong with it.
    pub(super) fn values(&self, root: &Path, file: &Path) -> Result<Vec<ScalarValue>> {
        let parts = file.prefix_match(root).map(|parts| parts.map(|part| part.as_ref().to_string()));
        let folders: Vec<String> = parts.map(Iterator::collect).unwrap_or_default();
        let value = |column: &usize| {
            let field = self.physical.field(*column);
            let prefix = format!("{}=", escaped(field.name()));
            let text = folders.iter().find_map(|folder| folder.strip_prefix(&prefix)).ok_or_else(|| {
                exec_datafusion_err!(
                    "it is in no folder '{prefix}…', and so has no value for column {}",
                    field.name()
                )
            })?;
            let data_type = field.data_type();
            if text == self.default_name {
                return ScalarValue::try_from_array(&new_null_array(data_type, 1), 0);
            }
            let text: ArrayRef = Arc::new(StringArray::from(vec![unescaped(text)]));
            let strict = CastOptions { safe: false, ..CastOptions::default() };
            let value = cast_with_options(&text, data_type, &strict)
                .map_err(|error| exec_datafusion_err!("the folder of column {}: {error}", field.name()))?;
            ScalarValue::try_from_array(&value, 0)
        };
        self.columns.iter().map(value).collect()
    }
}

/// Completes the rows of files by the values of their partition.
#[derive(Debug, Clone)]
pub struct PartitionedRows {
    pub(super) partitions: PartitionColumns,
    schema: SchemaRef,
    /// Each column's place: among those read from the file, or among the partition columns.
    places: Vec<Result<usize, usize>>,
    /// The columns that are read of the files, by their index among [`PartitionColumns::file_columns`].
    file_projection: Vec<usize>,
}

impl PartitionedRows {
    /// The columns `projection` of a table, in that order.
    pub fn try_new(partitions: PartitionColumns, projection: &[usize]) -> Result<Self> {
        let file_columns = partitions.file_columns();
        let (mut places, mut file_projection) = (vec![], vec![]);
        for column in projection {
            let partition = partitions.columns.iter().position(|partition| partition == column);
            let in_file = file_columns.iter().position(|known| known == column);
            places.push(match (partition, in_file) {
                (None, Some(index)) => {
                    file_projection.push(index);
                    Ok(file_projection.len() - 1)
                }
                (partition, _) => Err(partition.unwrap_or_default()),
            });
        }
        let fields: Vec<_> =
            projection.iter().map(|column| Arc::clone(&partitions.physical.fields()[*column])).collect();
        Ok(PartitionedRows { partitions, schema: Arc::new(Schema::new(fields)), places, file_projection })
    }

    /// The columns to decode, by their index among those of the files.
    pub fn file_projection(&self) -> &[usize] {
        &self.file_projection
    }

    pub(super) fn complete(&self, rows: &RecordBatch, values: &[ScalarValue]) -> Result<RecordBatch> {
        let count = rows.num_rows();
        let column = |place: &Result<usize, usize>| match place {
            Ok(index) => Ok(Arc::clone(rows.column(*index))),
            Err(partition) => values[*partition].to_array_of_size(count),
        };
        let columns = self.places.iter().map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// Text as it can stand in the name of a folder.
fn escaped(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{1}'..='\u{1f}'
            | '\u{7f}'
            | '"'
            | '#'
            | '%'
            | '\''
            | '*'
            | '/'
            | ':'
            | '='
            | '?'
            | '\\'
            | '{'
            | '['
            | ']'
            | '^' => {
                // writing to a String cannot fail
                let _ = write!(name, "%{:02X}", c as u32);
            }
            c => name.push(c),
        }
    }
    name
}

/// The text that [`escaped`] made a name of.
fn unescaped(name: &str) -> String {
    let bytes = name.as_bytes();
    let mut text = Vec::with_capacity(bytes.len());
    let mut place = 0;
    while place < bytes.len() {
        let digits = name.get(place + 1..place + 3).filter(|_| bytes[place] == b'%');
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                text.push(byte);
                place += 3;
            }
            None => {
                text.push(bytes[place]);
                place += 1;
            }
        }
    }
    String::from_utf8(text).unwrap_or_else(|_| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_can_be_a_folder() {
        for text in ["plain", "a/b", "100%", "k=v", "ä ö", "%41", "[x]", ""] {
            assert_eq!(unescaped(&escaped(text)), text);
        }
        assert_eq!(escaped("a/b:c"), "a%2Fb%3Ac");
        assert_eq!(unescaped("100%"), "100%");
    }
}
