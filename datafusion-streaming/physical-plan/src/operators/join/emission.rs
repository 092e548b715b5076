//! Pairs of rows to batches.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array,
};
use arrow::compute::take;
use arrow::datatypes::SchemaRef;
use datafusion_common::Result;

use super::side::{JoinSide, NONE};
use super::{MAX_PAIR_BYTES, MAX_PAIRS, row_bytes};
use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::padded::padded_indices;
use crate::runtime::Output;

/// A column of a join's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputColumn {
    /// A column of an input: its port and its place.
    Input(usize, usize),
    /// Whether the row has a match.
    Mark,
}

/// Rows to emit, as numbers: a row of the batch that is being joined, and a row that the other side
/// keeps; [`NONE`] is a side that is padded with NULLs, or not in the output. They go out in chunks of
/// [`MAX_PAIRS`] rows or [`MAX_PAIR_BYTES`].
pub(super) struct Emission<'a> {
    port: usize,
    changes: &'a ChangelogBatch,
    columns: &'a [OutputColumn],
    schema: &'a SchemaRef,
    rows: Vec<u32>,
    others: Vec<u32>,
    kinds: Vec<RowKind>,
    marks: Vec<bool>,
    /// The mean size of the batch's rows.
    own_bytes: usize,
    bytes: usize,
    out: &'a mut Output,
}

impl<'a> Emission<'a> {
    /// For a batch of the input `port`.
    pub(super) fn new(
        port: usize,
        changes: &'a ChangelogBatch,
        columns: &'a [OutputColumn],
        schema: &'a SchemaRef,
        out: &'a mut Output,
    ) -> Self {
        Emission {
            own_bytes: row_bytes(changes.batch().columns(), changes.num_rows()),
            bytes: 0,
            out,
            port,
            changes,
            columns,
            schema,
            rows: vec![],
            others: vec![],
            kinds: vec![],
            marks: vec![],
        }
    }

    #[inline]
    pub(super) fn push(&mut self, other: &JoinSide, row: u32, id: u32, kind: RowKind) -> Result<()> {
        self.rows.push(row);
        self.others.push(id);
        self.kinds.push(kind);
        self.bytes += self.own_bytes + other.bytes_of(id);
        match self.rows.len() >= MAX_PAIRS || self.bytes >= MAX_PAIR_BYTES {
            true => self.flush(other),
            false => Ok(()),
        }
    }

    /// A row with its mark, of a mark join.
    pub(super) fn push_marked(
        &mut self,
        other: &JoinSide,
        row: u32,
        id: u32,
        kind: RowKind,
        mark: bool,
    ) -> Result<()> {
        self.marks.push(mark);
        self.push(other, row, id, kind)
    }

    /// Emits what there is.
    pub(super) fn flush(&mut self, other: &JoinSide) -> Result<()> {
        let len = self.rows.len();
        if len == 0 {
            return Ok(());
        }
        let wants = |port: usize| {
            self.columns.iter().any(|column| matches!(column, OutputColumn::Input(of, _) if *of == port))
        };
        let rows = (wants(self.port)).then(|| padded_indices(&self.rows));
        let others = match wants(1 - self.port) {
            true => decode(&self.others, |ids| other.rows.columns(ids))?,
            false => vec![],
        };
        let column = |column: &OutputColumn| -> Result<ArrayRef> {
            match (column, &rows) {
                (OutputColumn::Mark, _) => Ok(Arc::new(BooleanArray::from(self.marks.clone()))),
                (OutputColumn::Input(port, place), Some(rows)) if *port == self.port => {
                    Ok(take(self.changes.batch().column(*place), rows, None)?)
                }
                (OutputColumn::Input(_, place), _) => Ok(Arc::clone(&others[*place])),
            }
        };
        let columns = self.columns.iter().map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(len));
        let batch = RecordBatch::try_new_with_options(Arc::clone(self.schema), columns, &options)?;
        self.out.data(ChangelogBatch::try_new(batch, std::mem::take(&mut self.kinds).into())?);
        self.bytes = 0;
        self.rows.clear();
        self.others.clear();
        self.marks.clear();
        Ok(())
    }
}

/// The columns of rows, NULLs for [`NONE`]; `rows` gives those of rows that there are.
pub(super) fn decode(ids: &[u32], rows: impl Fn(&[u32]) -> Result<Vec<ArrayRef>>) -> Result<Vec<ArrayRef>> {
    if !ids.contains(&NONE) {
        return rows(ids);
    }
    let known: Vec<u32> = ids.iter().copied().filter(|id| *id != NONE).collect();
    let columns = rows(&known)?;
    if known.is_empty() {
        return Ok(columns.iter().map(|column| new_null_array(column.data_type(), ids.len())).collect());
    }
    let mut next = 0;
    let place = |id: &u32| {
        (*id != NONE).then(|| {
            next += 1;
            next - 1
        })
    };
    let places: UInt32Array = ids.iter().map(place).collect();
    columns.iter().map(|column| Ok(take(column, &places, None)?)).collect()
}
