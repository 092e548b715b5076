//! Tables cut into ranges of key groups.

use std::ops::Range;

use arrow::array::{AsArray, RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::UInt16Type;
use datafusion::common::{Result, internal_err};
use datafusion_streaming_physical_plan::runtime::TableSnapshot;
use datafusion_streaming_physical_plan::state::key_group::{MAX_PARALLELISM, groups_of, subtask_of};

/// How large the ranges of a table are to be, about: as little as is worth a file of its own, since a range is
/// written anew when one of its keys changes.
const RANGE_BYTES: usize = 256 << 10;

/// The rows of a range of key groups.
#[derive(Debug)]
pub(super) struct Part {
    /// The key groups; all for a table that has none.
    pub key_groups: Range<u16>,
    pub rows: RecordBatch,
}

/// How many ranges a table of so many bytes has.
fn count(bytes: usize) -> usize {
    (bytes / RANGE_BYTES).max(1).next_power_of_two().min(MAX_PARALLELISM)
}

/// The ranges of key groups for so many bytes of rows.
pub(super) fn ranges_of(bytes: usize) -> impl Iterator<Item = Range<u16>> {
    let count = count(bytes);
    (0..count).map(move |range| groups_of(range, count))
}

/// The parts of a table: one, or if it is large and keyed as many as halving leads to. Rows keep their order, so
/// that a part whose rows have not changed has the bytes that it had.
pub(super) fn cut(table: &TableSnapshot) -> Result<Vec<Part>> {
    let whole = 0..MAX_PARALLELISM as u16;
    let count = count(table.rows.get_array_memory_size());
    if !table.keyed || count == 1 {
        return Ok(vec![Part { key_groups: whole, rows: table.rows.clone() }]);
    }
    let groups = table.rows.columns().first().and_then(|column| column.as_primitive_opt::<UInt16Type>());
    let Some(groups) = groups else {
        return internal_err!("the snapshot of table {} has no key groups", table.name);
    };
    let mut rows: Vec<Vec<u32>> = vec![vec![]; count];
    for (row, group) in groups.values().iter().enumerate() {
        rows[subtask_of(*group, count).min(count - 1)].push(row as u32);
    }
    let parts = rows.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty());
    let part = |(range, rows): (usize, Vec<u32>)| {
        let rows = take_record_batch(&table.rows, &UInt32Array::from(rows))?;
        Ok(Part { key_groups: groups_of(range, count), rows })
    };
    parts.map(part).collect()
}
