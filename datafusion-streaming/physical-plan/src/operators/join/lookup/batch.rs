//! Rows and what was found for their keys, as pairs.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExpr;

use super::LookupJoinNode;
use crate::changelog::ChangelogBatch;
use crate::operators::join::side::{JoinKeys, NONE};
use crate::operators::join::{LEFT, pairs_at_once, row_bytes};
use crate::operators::padded::padded_indices;
use crate::runtime::Output;

/// A batch and the keys of its rows.
pub(super) struct LookupBatch {
    pub changes: ChangelogBatch,
    keys: JoinKeys,
    /// By row: the number of its key; [`NONE`] for a key that has a NULL.
    pub slots: Vec<u32>,
    /// The number of keys.
    pub count: usize,
}

impl LookupBatch {
    pub(super) fn try_new(
        changes: ChangelogBatch,
        keys: &[Arc<dyn PhysicalExpr>],
        types: &[DataType],
    ) -> Result<Self> {
        let rows = changes.num_rows();
        let columns = evaluated(keys, changes.batch())?;
        let mut keys = JoinKeys::try_new(types, false)?;
        let slots = keys.slots_of(&columns, rows)?;
        let count = keys.slots();
        Ok(LookupBatch { changes, keys, slots, count })
    }

    /// The keys, as columns: those of these numbers.
    pub(super) fn key_columns(&self, numbers: &[u32]) -> Result<Vec<ArrayRef>> {
        self.keys.columns(numbers)
    }

    /// The number of the key of each of `rows` rows of the table; others are [`LookupBatch::count`] or
    /// more.
    pub(super) fn numbers_of(&mut self, keys: &[ArrayRef], rows: usize) -> Result<Vec<u32>> {
        self.keys.slots_of(keys, rows)
    }
}

/// The values of expressions over a batch.
pub(super) fn evaluated(expressions: &[Arc<dyn PhysicalExpr>], batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
    let rows = batch.num_rows();
    expressions.iter().map(|expression| expression.evaluate(batch)?.into_array(rows)).collect()
}

/// Rows of the table, by the number of their key.
pub(super) struct FoundRows {
    columns: Vec<ArrayRef>,
    /// By key: where its rows begin in `rows`, and at the end where the last one's end.
    starts: Vec<usize>,
    /// The rows of all keys, one key after the other, those of a key in their order.
    rows: Vec<u32>,
    row_bytes: usize,
}

impl FoundRows {
    /// Rows, each of the key with the number in `of_key`, of `count` keys; those of other keys are
    /// passed over.
    pub(super) fn new(columns: Vec<ArrayRef>, of_key: &[u32], count: usize) -> Self {
        let mut starts = vec![0; count + 1];
        for key in of_key.iter().filter(|key| (**key as usize) < count) {
            starts[*key as usize + 1] += 1;
        }
        for key in 0..count {
            starts[key + 1] += starts[key];
        }
        let mut next = starts.clone();
        let mut rows = vec![0; starts[count]];
        for (row, key) in of_key.iter().enumerate().filter(|(_, key)| (**key as usize) < count) {
            let place = &mut next[*key as usize];
            rows[*place] = row as u32;
            *place += 1;
        }
        let row_bytes = row_bytes(&columns, of_key.len());
        FoundRows { columns, starts, rows, row_bytes }
    }

    /// The rows of a key.
    fn of(&self, key: u32) -> &[u32] {
        match (self.starts.get(key as usize), self.starts.get(key as usize + 1)) {
            (Some(start), Some(end)) if key != NONE => &self.rows[*start..*end],
            _ => &[],
        }
    }
}

/// Puts out each row of a batch with the rows that were found for its key.
pub(super) fn join(
    node: &LookupJoinNode,
    changes: &ChangelogBatch,
    slots: &[u32],
    found: &FoundRows,
    out: &mut Output,
) -> Result<()> {
    let own_bytes = row_bytes(changes.batch().columns(), changes.num_rows());
    let mut pairs = Pairs {
        node,
        changes,
        found,
        most: pairs_at_once(own_bytes + found.row_bytes),
        rows: vec![],
        others: vec![],
        matched: None,
    };
    for (row, slot) in slots.iter().enumerate() {
        let row = row as u32;
        for other in found.of(*slot) {
            pairs.push(row, *other, out)?;
        }
        if node.outer {
            pairs.push(row, NONE, out)?;
        }
    }
    pairs.flush(out)
}

/// Pairs to put out, as far as they fulfil the residual condition.
struct Pairs<'a> {
    node: &'a LookupJoinNode,
    changes: &'a ChangelogBatch,
    found: &'a FoundRows,
    most: usize,
    rows: Vec<u32>,
    /// The row of the table; [`NONE`]: padded with NULLs, if the row has no match.
    others: Vec<u32>,
    /// The last row that has had a match.
    matched: Option<u32>,
}

impl Pairs<'_> {
    fn push(&mut self, row: u32, other: u32, out: &mut Output) -> Result<()> {
        self.rows.push(row);
        self.others.push(other);
        if self.rows.len() >= self.most { self.flush(out) } else { Ok(()) }
    }

    fn flush(&mut self, out: &mut Output) -> Result<()> {
        self.keep_matches()?;
        let len = self.rows.len();
        if len == 0 {
            return Ok(());
        }
        let (rows, others) =
            (UInt32Array::from(std::mem::take(&mut self.rows)), padded_indices(&self.others));
        self.others.clear();
        let own = self.changes.batch().columns().iter().map(|column| take(column, &rows, None));
        let found = self.found.columns.iter().map(|column| take(column, &others, None));
        let columns = own.chain(found).collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(len));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.node.schema), columns, &options)?;
        out.data(match self.changes.kinds() {
            None => ChangelogBatch::insert_only(batch),
            Some(kinds) => ChangelogBatch::try_new(batch, kinds.take(rows.values()))?,
        });
        Ok(())
    }

    /// Drops pairs that do not fulfil the condition, and pads of rows that have a match.
    fn keep_matches(&mut self) -> Result<()> {
        let len = self.rows.len();
        let mask = match &self.node.residual {
            Some(residual) if len > 0 => {
                let (rows, others) = (UInt32Array::from(self.rows.clone()), padded_indices(&self.others));
                Some(residual.evaluate(len, |port, place| {
                    Ok(match port == LEFT {
                        true => take(self.changes.batch().column(place), &rows, None)?,
                        false => take(&self.found.columns[place], &others, None)?,
                    })
                })?)
            }
            _ => None,
        };
        let mut kept = 0;
        for pair in 0..len {
            let (row, other) = (self.rows[pair], self.others[pair]);
            let is_kept = match other == NONE {
                true => self.matched != Some(row),
                false => mask.as_ref().is_none_or(|mask| mask.is_valid(pair) && mask.value(pair)),
            };
            if is_kept {
                if other != NONE {
                    self.matched = Some(row);
                }
                (self.rows[kept], self.others[kept]) = (row, other);
                kept += 1;
            }
        }
        self.rows.truncate(kept);
        self.others.truncate(kept);
        Ok(())
    }
}
