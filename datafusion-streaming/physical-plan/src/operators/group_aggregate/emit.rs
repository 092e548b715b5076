//! From values before and after each row to the changelog.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::SchemaRef;
use datafusion_common::Result;
use datafusion_streaming_udfs::aggregate::{Fate, OutputLayout};

use crate::changelog::{ChangelogBatch, RowKind, RowKinds};
use crate::operators::aggregate::FoldedBatch;

/// What is to be emitted for a batch.
pub(crate) struct Emission<'a> {
    /// The key columns of the rows.
    pub keys: Vec<ArrayRef>,
    /// The aggregates before and after each row.
    pub folded: FoldedBatch,
    /// What each row did to its group.
    pub fates: &'a [Fate],
    /// The layout of the aggregates.
    pub layout: OutputLayout,
    /// Whether updates that change nothing are emitted, too.
    pub unchanged: bool,
}

/// The changelog, if there is any.
pub(crate) fn emit(emission: Emission<'_>, schema: &SchemaRef) -> Result<Option<ChangelogBatch>> {
    let rows = emission.fates.len();
    let pairs = emission.layout == OutputLayout::Pairs;
    let all_update = emission.fates.iter().all(|fate| *fate == Fate::Update)
        && (emission.unchanged || emission.folded.changed.iter().all(|changed| *changed));

    let (keys, values, kinds) = match (all_update, pairs) {
        (true, false) => {
            (emission.keys, emission.folded.values, RowKinds::repeat(RowKind::UpdateAfter, rows))
        }
        (true, true) => {
            let rows_twice = UInt32Array::from_iter_values((0..rows as u32).flat_map(|row| [row, row]));
            (taken(&emission.keys, &rows_twice)?, emission.folded.values, RowKinds::update_pairs(rows))
        }
        (false, _) => {
            let picked = Picked::of(&emission, pairs);
            if picked.kinds.is_empty() {
                return Ok(None);
            }
            let keys = taken(&emission.keys, &picked.rows.into())?;
            (keys, taken(&emission.folded.values, &picked.values.into())?, picked.kinds.into())
        }
    };
    let columns = keys.into_iter().chain(values).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(kinds.len()));
    let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?;
    ChangelogBatch::try_new(batch, kinds).map(Some)
}

fn taken(columns: &[ArrayRef], indices: &UInt32Array) -> Result<Vec<ArrayRef>> {
    columns.iter().map(|column| Ok(take(column, indices, None)?)).collect()
}

/// The rows to emit: for each its input row, the place of its values, and its kind.
#[derive(Default)]
struct Picked {
    rows: Vec<u32>,
    values: Vec<u32>,
    kinds: Vec<RowKind>,
}

impl Picked {
    fn of(emission: &Emission<'_>, pairs: bool) -> Self {
        let rows = emission.fates.len();
        let room = if pairs { 2 * rows } else { rows };
        let mut picked = Picked {
            rows: Vec::with_capacity(room),
            values: Vec::with_capacity(room),
            kinds: Vec::with_capacity(room),
        };
        for (row, (fate, changed)) in (0u32..).zip(emission.fates.iter().zip(&emission.folded.changed)) {
            let (before, after) = if pairs { (2 * row, 2 * row + 1) } else { (row, row) };
            match fate {
                Fate::First => picked.push(row, after, RowKind::Insert),
                Fate::Last => picked.push(row, before, RowKind::Delete),
                Fate::Update if *changed || emission.unchanged => {
                    if pairs {
                        picked.push(row, before, RowKind::UpdateBefore);
                    }
                    picked.push(row, after, RowKind::UpdateAfter);
                }
                Fate::Update => {}
            }
        }
        picked
    }

    fn push(&mut self, row: u32, value: u32, kind: RowKind) {
        self.rows.push(row);
        self.values.push(value);
        self.kinds.push(kind);
    }
}
