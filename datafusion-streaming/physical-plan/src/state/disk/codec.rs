//! Rows of snapshots as bytes and back.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::row::{RowConverter, Rows, SortField};
use datafusion_common::{Result, internal_datafusion_err};

use crate::state::key_group::key_ids;

/// The rows of one table's snapshot, the key group aside, as bytes in a store.
#[derive(Debug)]
pub struct RowCodec {
    schema: SchemaRef,
    keys: Vec<usize>,
    converter: RowConverter,
}

/// A row in an entry of a store is preceded by the number of its table and its length.
const ROW_HEAD: usize = 1 + 4;

impl RowCodec {
    /// A codec for snapshots of a table like `empty`, whose key columns are at `keys`, counted without
    /// the key group. An error for types that arrow-row lacks.
    pub fn try_new(empty: &RecordBatch, keys: Vec<usize>) -> Result<Self> {
        let fields: Vec<_> = empty.schema().fields().iter().skip(1).cloned().collect();
        let sort = fields.iter().map(|field| SortField::new(field.data_type().clone())).collect();
        Ok(RowCodec { schema: Arc::new(Schema::new(fields)), keys, converter: RowConverter::new(sort)? })
    }

    /// The columns of the rows.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The key columns.
    pub fn keys(&self) -> &[usize] {
        &self.keys
    }

    /// The id of each row's key.
    pub fn key_ids(&self, rows: &RecordBatch) -> Result<Vec<u64>> {
        let keys: Vec<ArrayRef> = self.keys.iter().map(|key| Arc::clone(rows.column(*key))).collect();
        key_ids(&keys, rows.num_rows())
    }

    /// Rows as bytes.
    pub fn encode(&self, rows: &RecordBatch) -> Result<Rows> {
        Ok(self.converter.convert_columns(rows.columns())?)
    }

    /// Rows of bytes that [`RowCodec::encode`] made.
    pub fn decode(&self, rows: &[&[u8]]) -> Result<RecordBatch> {
        let parser = self.converter.parser();
        let columns = self.converter.convert_rows(rows.iter().map(|row| parser.parse(row)))?;
        // dictionaries come back as their values
        let typed = |(column, field): (ArrayRef, &Arc<arrow::datatypes::Field>)| match column.data_type()
            == field.data_type()
        {
            true => Ok(column),
            false => Ok(cast(&column, field.data_type())?),
        };
        let columns = columns.into_iter().zip(self.schema.fields()).map(typed).collect::<Result<_>>()?;
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

/// Appends a row of a table to an entry.
pub fn push_row(entry: &mut Vec<u8>, table: u8, row: &[u8]) {
    entry.push(table);
    entry.extend_from_slice(&(row.len() as u32).to_le_bytes());
    entry.extend_from_slice(row);
}

/// Calls `visit` with the table and the bytes of each row of an entry.
pub fn for_each_row<'a>(mut entry: &'a [u8], mut visit: impl FnMut(usize, &'a [u8])) -> Result<()> {
    let damaged = || internal_datafusion_err!("an entry of the state store is cut short");
    while !entry.is_empty() {
        let (head, rest) = entry.split_at_checked(ROW_HEAD).ok_or_else(damaged)?;
        let len = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
        let (row, rest) = rest.split_at_checked(len as usize).ok_or_else(damaged)?;
        visit(usize::from(head[0]), row);
        entry = rest;
    }
    Ok(())
}
