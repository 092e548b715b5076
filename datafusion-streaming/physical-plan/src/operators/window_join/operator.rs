//! Joining the rows of a window.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::take;
use datafusion_common::{JoinSide, JoinType, Result};

use super::{WindowJoinFilter, WindowJoinNode};
use crate::changelog::ChangelogBatch;
use crate::operators::null_keys::null_keys;
use crate::operators::padded::{NO_ROW, padded_indices};
use crate::operators::window_rows::{WindowRows, replaced};
use crate::runtime::{Context, Operator, Output};
use crate::state::{KeyInterner, StateTable};
use crate::time::{TimeWindow, Watermark};

pub(super) struct WindowJoin {
    pub node: WindowJoinNode,
    pub rows: [WindowRows; 2],
}

/// Pairs of rows, by their places.
#[derive(Debug, Default)]
struct Pairs {
    left: Vec<u32>,
    right: Vec<u32>,
}

/// So many rows of windows that fire together are joined together.
const TOGETHER_ROWS: usize = 8192;

impl WindowJoin {
    /// What windows come to, in their order.
    fn joined(&self, windows: &[TimeWindow]) -> Result<RecordBatch> {
        let [left, right] = &self.rows;
        let rows: Vec<_> = windows.iter().map(|window| [left.rows(*window), right.rows(*window)]).collect();
        self.join(&left.get_all(windows)?, &right.get_all(windows)?, &rows)
    }

    /// How many of the first of these windows are joined together: as long as they are small, and where what
    /// has no partner does not come behind what has.
    fn together(&self, windows: &[TimeWindow]) -> usize {
        if matches!(self.node.join_type, JoinType::Left | JoinType::Right | JoinType::Full) {
            return 1;
        }
        let mut rows = 0;
        let fits = |window: &&TimeWindow| {
            rows += self.rows.iter().map(|side| side.rows(**window)).sum::<usize>();
            rows <= TOGETHER_ROWS
        };
        windows.iter().take_while(fits).count().max(1)
    }

    /// Joins rows that lie window by window; `windows` are the numbers of rows of each on either side.
    fn join(&self, left: &RecordBatch, right: &RecordBatch, windows: &[[usize; 2]]) -> Result<RecordBatch> {
        let Pairs { left: mut lefts, right: mut rights } =
            self.filtered(self.equal(left, right, windows)?, left, right)?;
        let join_type = self.node.join_type;
        let left_rest = || unmatched(&lefts, left.num_rows());
        let right_rest = || unmatched(&rights, right.num_rows());
        match join_type {
            JoinType::LeftSemi => (lefts, rights) = (matched(&lefts, left.num_rows()), vec![]),
            JoinType::LeftAnti => (lefts, rights) = (left_rest(), vec![]),
            JoinType::RightSemi => (lefts, rights) = (vec![], matched(&rights, right.num_rows())),
            JoinType::RightAnti => (lefts, rights) = (vec![], right_rest()),
            JoinType::Left | JoinType::Right | JoinType::Full => {
                let left_rest = if join_type == JoinType::Right { vec![] } else { left_rest() };
                let right_rest = if join_type == JoinType::Left { vec![] } else { right_rest() };
                rights.resize(rights.len() + left_rest.len(), NO_ROW);
                lefts.extend(left_rest);
                lefts.resize(lefts.len() + right_rest.len(), NO_ROW);
                rights.extend(right_rest);
            }
            _ => {}
        }
        self.output(left, right, &lefts, &rights)
    }

    /// The pairs with equal keys. Keys are interned once, however many windows they are in.
    fn equal(&self, left: &RecordBatch, right: &RecordBatch, windows: &[[usize; 2]]) -> Result<Pairs> {
        let keys = |input: usize, rows: &RecordBatch| -> Vec<ArrayRef> {
            self.node.inputs[input].keys.iter().map(|key| Arc::clone(rows.column(*key))).collect()
        };
        let (left_keys, right_keys) = (keys(0, left), keys(1, right));
        let types: Vec<_> = left_keys.iter().map(|key| key.data_type().clone()).collect();
        let mut interner = KeyInterner::try_new(&types)?;
        let mut slots = vec![];
        interner.intern(&right_keys, right.num_rows(), &mut slots)?;
        interner.intern(&left_keys, left.num_rows(), &mut slots)?;
        let (right_slots, left_slots) = slots.split_at(right.num_rows());

        let nulls_of = |keys: &[ArrayRef]| if self.node.null_equals_null { None } else { null_keys(keys) };
        let (left_nulls, right_nulls) = (nulls_of(&left_keys), nulls_of(&right_keys));
        let has_null =
            |nulls: &Option<NullBuffer>, row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        // of a window, by slot: the first of its right rows with the key, and by row the next
        let mut first = vec![NO_ROW; interner.slots()];
        let mut next = vec![NO_ROW; right.num_rows()];
        let mut pairs = Pairs::default();
        let (mut left_start, mut right_start) = (0, 0);
        for [left_rows, right_rows] in windows {
            let (lefts, rights) = (left_start..left_start + left_rows, right_start..right_start + right_rows);
            for row in rights.clone().rev().filter(|row| !has_null(&right_nulls, *row)) {
                let first = &mut first[right_slots[row] as usize];
                next[row] = std::mem::replace(first, row as u32);
            }
            for row in lefts.clone().filter(|row| !has_null(&left_nulls, *row)) {
                let mut other = first[left_slots[row] as usize];
                while other != NO_ROW {
                    pairs.left.push(row as u32);
                    pairs.right.push(other);
                    other = next[other as usize];
                }
            }
            right_slots[rights.clone()].iter().for_each(|slot| first[*slot as usize] = NO_ROW);
            (left_start, right_start) = (lefts.end, rights.end);
        }
        Ok(pairs)
    }

    /// The pairs that fulfil the residual condition.
    fn filtered(&self, pairs: Pairs, left: &RecordBatch, right: &RecordBatch) -> Result<Pairs> {
        let Some(WindowJoinFilter { condition, columns, schema }) = &self.node.filter else {
            return Ok(pairs);
        };
        let rows = pairs.left.len();
        let lefts = UInt32Array::from(pairs.left);
        let rights = UInt32Array::from(pairs.right);
        let column = |(side, column): &(JoinSide, usize)| match side {
            JoinSide::Left => take(left.column(*column), &lefts, None),
            _ => take(right.column(*column), &rights, None),
        };
        let columns = columns.iter().map(column).collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?;
        let mask = condition.evaluate(&batch)?.into_array(rows)?;
        let mask: &BooleanArray = mask.as_boolean();
        let is_true = |row: &usize| mask.is_valid(*row) && mask.value(*row);
        let kept: Vec<usize> = (0..rows).filter(is_true).collect();
        Ok(Pairs {
            left: kept.iter().map(|row| lefts.value(*row)).collect(),
            right: kept.iter().map(|row| rights.value(*row)).collect(),
        })
    }

    fn output(
        &self,
        left: &RecordBatch,
        right: &RecordBatch,
        lefts: &[u32],
        rights: &[u32],
    ) -> Result<RecordBatch> {
        let rows = lefts.len().max(rights.len());
        let (lefts, rights) = (padded_indices(lefts), padded_indices(rights));
        let column = |(side, column): &(JoinSide, usize)| {
            let (batch, places) = if *side == JoinSide::Left { (left, &lefts) } else { (right, &rights) };
            let values = batch.column(*column);
            match batch.num_rows() {
                0 => Ok(new_null_array(values.data_type(), rows)),
                _ => take(values, places, None),
            }
        };
        let columns = self.node.output.iter().map(column).collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.node.schema), columns, &options)?)
    }
}

/// Which of so many rows are among the places.
fn is_matched(places: &[u32], rows: usize) -> Vec<bool> {
    let mut found = vec![false; rows];
    places.iter().for_each(|place| found[*place as usize] = true);
    found
}

/// The rows that are among the places, ascending.
fn matched(places: &[u32], rows: usize) -> Vec<u32> {
    let found = is_matched(places, rows);
    (0..rows as u32).filter(|row| found[*row as usize]).collect()
}

/// The rows that are not.
fn unmatched(places: &[u32], rows: usize) -> Vec<u32> {
    let found = is_matched(places, rows);
    (0..rows as u32).filter(|row| !found[*row as usize]).collect()
}

impl Operator for WindowJoin {
    fn process(
        &mut self,
        port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        for (window, rows) in self.rows[port].add(changes, cx)?.late {
            let before = self.joined(&[window])?;
            self.rows[port].keep(rows)?;
            if let Some(changes) = replaced(&before, &self.joined(&[window])?)? {
                out.data(changes);
            }
        }
        Ok(())
    }

    fn on_watermark(&mut self, watermark: Watermark, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        let mut due: Vec<TimeWindow> =
            self.rows.iter().flat_map(|rows| rows.due(cx.watermark, watermark)).collect();
        due.sort_unstable_by_key(|window| (window.end, window.start));
        due.dedup();
        let mut due = due.as_slice();
        while !due.is_empty() {
            let (together, rest) = due.split_at(self.together(due));
            out.data(ChangelogBatch::insert_only(self.joined(together)?));
            due = rest;
        }
        self.rows.iter_mut().for_each(|rows| rows.forget_gone(watermark));
        out.watermark(watermark);
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        self.rows.iter_mut().map(|rows| rows as &mut dyn StateTable).collect()
    }
}
