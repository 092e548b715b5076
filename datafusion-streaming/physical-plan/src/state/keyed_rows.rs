//! Snapshots of rows that an operator keeps by key.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, RecordBatchOptions, UInt16Array};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion_common::{Result, internal_err};

use super::key_group::key_groups;
use crate::runtime::TableSnapshot;

/// A number that goes with each row of a snapshot.
pub type Extra = (&'static str, Vec<i64>);

/// The snapshot of rows whose columns `keys` decide the key group: the group, the columns of the
/// rows, and the extra numbers.
pub fn keyed_snapshot(
    name: &str,
    keys: &[usize],
    rows: &RecordBatch,
    extra: Vec<Extra>,
) -> Result<TableSnapshot> {
    let key_columns: Vec<ArrayRef> = keys.iter().map(|key| Arc::clone(rows.column(*key))).collect();
    let groups = key_groups(&key_columns, rows.num_rows())?;
    let mut fields = vec![Arc::new(Field::new("key_group", DataType::UInt16, false))];
    let mut columns: Vec<ArrayRef> = vec![Arc::new(UInt16Array::from(groups))];
    fields.extend(rows.schema().fields().iter().cloned());
    columns.extend(rows.columns().iter().cloned());
    for (name, values) in extra {
        fields.push(Arc::new(Field::new(name, DataType::Int64, false)));
        columns.push(Arc::new(Int64Array::from(values)));
    }
    let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
    Ok(TableSnapshot { name: name.to_string(), keyed: true, rows })
}

/// The rows and the `count` extra numbers of a snapshot made by [`keyed_snapshot`], without the key
/// group.
pub fn split_extra(
    saved: &RecordBatch,
    schema: &arrow::datatypes::SchemaRef,
    count: usize,
) -> Result<(RecordBatch, Vec<Vec<i64>>)> {
    let width = schema.fields().len();
    let Some((own, extra)) =
        saved.columns().split_at_checked(width).filter(|(_, extra)| extra.len() == count)
    else {
        return internal_err!(
            "a snapshot of rows has {} columns instead of {}",
            saved.num_columns(),
            width + count
        );
    };
    let options = RecordBatchOptions::new().with_row_count(Some(saved.num_rows()));
    let rows = RecordBatch::try_new_with_options(Arc::clone(schema), own.to_vec(), &options)?;
    let extra = extra.iter().map(|column| column.as_primitive::<Int64Type>().values().to_vec()).collect();
    Ok((rows, extra))
}
