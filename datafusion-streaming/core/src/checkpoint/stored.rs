//! Rows of a checkpoint that are read when they are restored, a range of key groups at a time.

use std::ops::Range;

use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::compute::{concat_batches, filter_record_batch};
use arrow::datatypes::UInt16Type;
use datafusion::common::{Result, exec_datafusion_err, internal_datafusion_err};
use datafusion_streaming_physical_plan::runtime::{StoredRows, TableSnapshot};
use datafusion_streaming_physical_plan::state::disk::StoreFolder;

use super::state_file;

/// The keyed tables of an operator's partition, in a folder that goes with them.
#[derive(Debug)]
pub(super) struct StoredParts {
    folder: StoreFolder,
    tables: Vec<StoredTable>,
    bytes: u64,
}

/// A table in files.
#[derive(Debug)]
struct StoredTable {
    /// The name, and the columns of the rows.
    empty: TableSnapshot,
    /// The key groups of each file, and its name.
    files: Vec<(Range<u16>, String)>,
}

impl StoredParts {
    /// No tables, in a folder.
    pub(super) fn new(folder: StoreFolder) -> Self {
        StoredParts { folder, tables: vec![], bytes: 0 }
    }

    /// Adds a table, without rows.
    pub(super) fn add_table(&mut self, empty: TableSnapshot) {
        self.tables.push(StoredTable { empty, files: vec![] });
    }

    /// Adds rows to the table that was added last, as the bytes of a state file.
    pub(super) fn add_part(&mut self, key_groups: Range<u16>, bytes: &[u8]) -> Result<()> {
        let name = format!("{}-{}", self.tables.len(), state_file::name_of(bytes));
        let path = self.folder.path().join(&name);
        std::fs::write(&path, bytes)
            .map_err(|error| exec_datafusion_err!("{} cannot be written: {error}", path.display()))?;
        self.bytes += bytes.len() as u64;
        if let Some(table) = self.tables.last_mut() {
            table.files.push((key_groups, name));
        }
        Ok(())
    }

    /// The rows of a file that are of some key groups.
    fn rows(&self, file: &str, groups: &Range<u16>) -> Result<RecordBatch> {
        let path = self.folder.path().join(file);
        let bytes = std::fs::read(&path)
            .map_err(|error| exec_datafusion_err!("{} cannot be read: {error}", path.display()))?;
        let rows = state_file::decode(&bytes)
            .map_err(|reason| exec_datafusion_err!("{} cannot be restored: {reason}", path.display()))?;
        let column = rows.columns().first().and_then(|column| column.as_primitive_opt::<UInt16Type>());
        let column =
            column.ok_or_else(|| internal_datafusion_err!("{} has no key groups", path.display()))?;
        let wanted: BooleanArray = column.values().iter().map(|group| Some(groups.contains(group))).collect();
        match wanted.true_count() == wanted.len() {
            true => Ok(rows),
            false => Ok(filter_record_batch(&rows, &wanted)?),
        }
    }
}

impl StoredRows for StoredParts {
    fn size(&self) -> u64 {
        self.bytes
    }

    fn read(&self, groups: Range<u16>) -> Result<Vec<TableSnapshot>> {
        let read = |table: &StoredTable| {
            let overlaps = |own: &Range<u16>| own.start < groups.end && groups.start < own.end;
            let files = table.files.iter().filter(|(own, _)| overlaps(own));
            let rows = files.map(|(_, file)| self.rows(file, &groups)).collect::<Result<Vec<_>>>()?;
            let rows = match rows.as_slice() {
                [one] => one.clone(),
                rows => concat_batches(&table.empty.rows.schema(), rows)?,
            };
            Ok(TableSnapshot { rows, ..table.empty.clone() })
        };
        self.tables.iter().map(read).collect()
    }
}
