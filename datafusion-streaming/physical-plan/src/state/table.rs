//! The driver's view of an operator's state.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion_common::{Result, internal_err};

use crate::runtime::TableSnapshot;

/// A piece of an operator's state that the driver accounts, snapshots and restores.
pub trait StateTable {
    /// A name that is unique in the operator and does not change between versions.
    fn name(&self) -> &str;

    /// Bytes held, by capacity.
    fn memory_size(&self) -> usize;

    /// The content. Keyed tables have the key group (`UInt16`) as their first column.
    fn snapshot(&self) -> Result<TableSnapshot>;

    /// Adds rows of a snapshot, of keys that the table does not have: to an empty table, several times when
    /// the parallelism has changed, or when keys come back from disk. Keyed tables get the rows of their key
    /// groups, without the key group column.
    fn restore(&mut self, rows: &RecordBatch) -> Result<()>;

    /// How a keyed table can be kept on disk, key by key; `None`: it stays in memory.
    fn evictable(&self) -> Option<Evictable> {
        None
    }

    /// When the operator must see the keys of rows again though no row comes for them: where keys are on
    /// disk, they come back by then. `rows` are those of the last snapshot, without the key group; the
    /// operator has been told of the time `watermark`.
    fn due(&self, rows: &RecordBatch, watermark: i64) -> Result<Due> {
        let _ = (rows, watermark);
        Ok(Due::default())
    }
}

/// How a keyed table is kept on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evictable {
    /// The columns of a snapshot that decide the key group, counted without that. They are the columns by
    /// which the operator's inputs are distributed.
    pub keys: Vec<usize>,
    /// Rows that have not been written for so many milliseconds read as absent; 0: never.
    pub ttl: i64,
}

/// When keys must be seen again: for each row of a snapshot a time in milliseconds since the epoch, `i64::MAX` for
/// never. Without times, no row asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Due {
    /// When the watermark comes to these times.
    pub watermarks: Vec<i64>,
    /// When the clock comes to these times.
    pub times: Vec<i64>,
}

impl Due {
    /// When the watermark comes to these times.
    pub fn at_watermarks(watermarks: Vec<i64>) -> Self {
        Due { watermarks, times: vec![] }
    }

    /// When the clock comes to these times.
    pub fn at_times(times: Vec<i64>) -> Self {
        Due { watermarks: vec![], times }
    }
}

/// A number that an operator keeps for itself, such as the last watermark it made.
#[derive(Debug, Clone)]
pub struct ValueTable {
    name: &'static str,
    /// The number.
    pub value: i64,
}

impl ValueTable {
    /// A table that holds `value`.
    pub fn new(name: &'static str, value: i64) -> Self {
        ValueTable { name, value }
    }
}

impl StateTable for ValueTable {
    fn name(&self) -> &str {
        self.name
    }

    fn memory_size(&self) -> usize {
        0
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let schema = Arc::new(Schema::new(vec![Field::new("value", DataType::Int64, false)]));
        let value: ArrayRef = Arc::new(Int64Array::from(vec![self.value]));
        let rows = RecordBatch::try_new(schema, vec![value])?;
        Ok(TableSnapshot { name: self.name.to_string(), keyed: false, rows })
    }

    fn restore(&mut self, rows: &RecordBatch) -> Result<()> {
        match rows.columns().first().and_then(|column| column.as_primitive_opt::<Int64Type>()) {
            Some(column) if !column.is_empty() => self.value = column.value(0),
            _ => return internal_err!("the snapshot of {} does not hold a number", self.name),
        }
        Ok(())
    }
}
