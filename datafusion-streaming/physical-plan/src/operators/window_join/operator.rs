//! Joining the rows of a window.

use std::iter::repeat_n;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array,
};
use arrow::compute::take;
use datafusion_common::{JoinSide, JoinType, Result};

use super::{WindowJoinFilter, WindowJoinNode};
use crate::changelog::ChangelogBatch;
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

/// The end of a chain of rows of a key.
const NONE: u32 = u32::MAX;

/// So many rows of windows that fire together are joined together.
const TOGETHER_ROWS: usize = 8192;

impl WindowJoin {
    /// What windows come to, in their order.
    fn joined(&self, windows: &[TimeWindow]) -> Result<RecordBatch> {
        let [left, right] = &self.rows;
        let window_of = |rows: &WindowRows| match windows {
            [_] => None,
            _ => {
                let numbers = (0u32..).zip(windows);
                let rows = numbers.flat_map(|(number, window)| repeat_n(number, rows.rows(*window)));
                Some(Arc::new(UInt32Array::from_iter_values(rows)) as ArrayRef)
            }
        };
        let windows_of = [window_of(left), window_of(right)];
        self.join(&left.get_all(windows)?, &right.get_all(windows)?, windows_of)
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

    /// `windows` are the numbers of the windows that the rows of the inputs belong to, if there are several.
    fn join(
        &self,
        left: &RecordBatch,
        right: &RecordBatch,
        windows: [Option<ArrayRef>; 2],
    ) -> Result<RecordBatch> {
        let pairs = self.filtered(self.equal(left, right, windows)?, left, right)?;
        let matched = |places: &[u32], rows: &RecordBatch| {
            let mut found = vec![false; rows.num_rows()];
            places.iter().for_each(|place| found[*place as usize] = true);
            found
        };
        let places = |mask: Vec<bool>, wanted: bool| -> Vec<Option<u32>> {
            (0u32..)
                .zip(mask)
                .filter(|(_, matched)| *matched == wanted)
                .map(|(place, _)| Some(place))
                .collect()
        };
        let (mut lefts, mut rights) = (vec![], vec![]);
        match self.node.join_type {
            JoinType::LeftSemi => lefts = places(matched(&pairs.left, left), true),
            JoinType::LeftAnti => lefts = places(matched(&pairs.left, left), false),
            JoinType::RightSemi => rights = places(matched(&pairs.right, right), true),
            JoinType::RightAnti => rights = places(matched(&pairs.right, right), false),
            join_type => {
                let left_rest = matches!(join_type, JoinType::Left | JoinType::Full)
                    .then(|| places(matched(&pairs.left, left), false))
                    .unwrap_or_default();
                let right_rest = matches!(join_type, JoinType::Right | JoinType::Full)
                    .then(|| places(matched(&pairs.right, right), false))
                    .unwrap_or_default();
                lefts.extend(pairs.left.into_iter().map(Some));
                rights.extend(pairs.right.into_iter().map(Some));
                rights.resize(rights.len() + left_rest.len(), None);
                lefts.extend(left_rest);
                lefts.resize(lefts.len() + right_rest.len(), None);
                rights.extend(right_rest);
            }
        }
        self.output(left, right, lefts, rights)
    }

    /// The pairs with equal keys.
    fn equal(
        &self,
        left: &RecordBatch,
        right: &RecordBatch,
        windows: [Option<ArrayRef>; 2],
    ) -> Result<Pairs> {
        let keys = |input: usize, rows: &RecordBatch, windows: Option<ArrayRef>| -> Vec<ArrayRef> {
            let keys = self.node.inputs[input].keys.iter().map(|key| Arc::clone(rows.column(*key)));
            keys.chain(windows).collect()
        };
        let [left_windows, right_windows] = windows;
        let (left_keys, right_keys) = (keys(0, left, left_windows), keys(1, right, right_windows));
        let types: Vec<_> = left_keys.iter().map(|key| key.data_type().clone()).collect();
        let mut interner = KeyInterner::try_new(&types)?;
        let mut slots = vec![];
        interner.intern(&right_keys, right.num_rows(), &mut slots)?;
        interner.intern(&left_keys, left.num_rows(), &mut slots)?;
        let (right_slots, left_slots) = slots.split_at(right.num_rows());

        let has_null = |keys: &[ArrayRef], row: usize| {
            !self.node.null_equals_null && keys.iter().any(|key| key.is_null(row))
        };
        let mut first = vec![NONE; interner.slots()];
        let mut next = vec![NONE; right.num_rows()];
        for (row, slot) in right_slots.iter().enumerate().rev() {
            if !has_null(&right_keys, row) {
                next[row] = first[*slot as usize];
                first[*slot as usize] = row as u32;
            }
        }
        let mut pairs = Pairs::default();
        for (row, slot) in left_slots.iter().enumerate() {
            let mut other = first[*slot as usize];
            while other != NONE && !has_null(&left_keys, row) {
                pairs.left.push(row as u32);
                pairs.right.push(other);
                other = next[other as usize];
            }
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
        lefts: Vec<Option<u32>>,
        rights: Vec<Option<u32>>,
    ) -> Result<RecordBatch> {
        let rows = lefts.len().max(rights.len());
        let (lefts, rights) = (UInt32Array::from(lefts), UInt32Array::from(rights));
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
