//! The whole table in memory.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::DataType;
use datafusion_common::Result;

use super::LookupTable;
use super::batch::{FoundRows, evaluated};
use crate::operators::join::side::{JoinKeys, NONE};
use crate::state::distinct_where;

/// A table as it was when it was read.
pub(super) struct FullTable {
    keys: JoinKeys,
    /// The number of keys that the table has.
    count: usize,
    pub rows: FoundRows,
    pub read_at: i64,
    bytes: usize,
}

impl FullTable {
    pub(super) fn try_new(
        table: &dyn LookupTable,
        key_types: &[DataType],
        batches: &[RecordBatch],
        read_at: i64,
    ) -> Result<Self> {
        let all = concat_batches(&table.schema(), batches)?;
        let mut keys = JoinKeys::try_new(key_types, false)?;
        let of_key = keys.slots_of(&evaluated(table.keys(), &all)?, all.num_rows())?;
        let count = keys.slots();
        let bytes = all.get_array_memory_size();
        let rows = FoundRows::new(all.columns().to_vec(), &of_key, count);
        Ok(FullTable { keys, count, rows, read_at, bytes })
    }

    /// The number of the key of each row, by which the table's rows are found; [`NONE`] where it has
    /// none.
    pub(super) fn slots_of(&mut self, keys: &[ArrayRef], rows: usize) -> Result<Vec<u32>> {
        let mut slots = self.keys.slots_of(keys, rows)?;
        let mut unknown = vec![];
        for slot in &mut slots {
            if *slot != NONE && *slot as usize >= self.count {
                unknown.push(*slot);
                *slot = NONE;
            }
        }
        self.keys.release(&distinct_where(unknown, |_| true));
        Ok(slots)
    }

    /// Bytes held.
    pub(super) fn memory_size(&self) -> usize {
        self.bytes
    }
}
