//! LEAD, and frames that end elsewhere than at the row: a row waits until all rows of its frame are there.
//!
//! ```text
//!   SUM(v) OVER (ORDER BY ts ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)
//!
//!     frames of the key:   v     1    2    4    8            watermark passed all four
//!                                     ▲    ▲    ▲
//!                                   from  next  to           1 and 2 are answered (3, 7), 4 is next
//! ```
//!
//! Flink has no such frames. Here the watermark decides them: a frame in RANGE is complete when the watermark has
//! passed its end, one in ROWS, or that of LEAD, when so many rows behind the row are passed by the watermark. What
//! waits is complete, too, at the end of the input and when the key's time to live is over. Rows that wait hold the
//! watermark back, so that they are not late for what follows.
//!
//! A row enters the state of its key once and leaves it once.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion_common::Result;

use super::operator::{Over, Released, Script};
use super::state::{Due, NO_ROW, Position};
use super::{FrameUnits, OverCall, OverFrame, OverNode};
use crate::changelog::ChangelogBatch;
use crate::runtime::Output;
use crate::state::{Place, RowId};
use crate::time::Watermark;

/// What a row must wait for, and what it looks at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around {
    units: FrameUnits,
    /// From here on, counted from the row; `None`: from the first row.
    start: Option<i64>,
    /// Up to here.
    end: i64,
    /// How many rows LAG looks back.
    look_back: usize,
    /// How many rows LEAD looks ahead.
    look_ahead: usize,
    has_aggregates: bool,
}

/// Rows whose frames are complete, with what their calls say.
#[derive(Default)]
struct Complete {
    released: Released,
    script: Script,
    /// For each LAG and LEAD call, where its value is.
    shifted: Vec<Vec<Option<Place>>>,
}

impl Around {
    /// What the rows of a node wait for; `None` where all frames end at the row.
    pub(super) fn of(node: &OverNode) -> Option<Self> {
        let OverFrame::Between { units, start, end } = node.frame else { return None };
        let mut around = Around { units, start, end, look_back: 0, look_ahead: 0, has_aggregates: false };
        for call in &node.calls {
            match call {
                OverCall::Lag { offset, .. } => around.look_back = around.look_back.max(*offset),
                OverCall::Lead { offset, .. } => around.look_ahead = around.look_ahead.max(*offset),
                OverCall::Aggregate(_) => around.has_aggregates = true,
                _ => {}
            }
        }
        Some(around)
    }

    /// Whether event time must come so far behind a row; `None`: not for its frame.
    pub(super) fn waits_for_time(&self) -> Option<i64> {
        (self.units == FrameUnits::Range && self.end > 0 && self.has_aggregates).then_some(self.end)
    }

    /// How many rows must follow a row.
    fn waits_for_rows(&self) -> usize {
        match self.units == FrameUnits::Rows && self.has_aggregates {
            true => self.look_ahead.max(usize::try_from(self.end).unwrap_or(0)),
            false => self.look_ahead,
        }
    }

    fn is_complete(&self, frame: &VecDeque<(i64, RowId)>, next: usize, watermark: Watermark) -> bool {
        frame.len() - next > self.waits_for_rows()
            && self.waits_for_time().is_none_or(|end| frame[next].0.saturating_add(end) <= watermark.0)
    }

    /// The first row of the frame of row `next`, searched from `from` on.
    fn first_of(&self, frame: &VecDeque<(i64, RowId)>, next: usize, mut from: usize) -> usize {
        match (self.start, self.units) {
            (None, _) => 0,
            (Some(start), FrameUnits::Rows) => shifted_by(next, start).min(frame.len()),
            (Some(start), FrameUnits::Range) => {
                let first = frame[next].0.saturating_add(start);
                while from < frame.len() && frame[from].0 < first {
                    from += 1;
                }
                from
            }
        }
    }

    /// The first row behind the frame of row `next`, searched from `to` on.
    fn end_of(&self, frame: &VecDeque<(i64, RowId)>, next: usize, mut to: usize) -> usize {
        match self.units {
            FrameUnits::Rows => shifted_by(next + 1, self.end).min(frame.len()),
            FrameUnits::Range => {
                let last = frame[next].0.saturating_add(self.end);
                while to < frame.len() && frame[to].0 <= last {
                    to += 1;
                }
                to
            }
        }
    }
}

/// A row number, moved; what is before the first row is the first.
fn shifted_by(row: usize, by: i64) -> usize {
    let by_rows = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
    if by < 0 { row.saturating_sub(by_rows) } else { row.saturating_add(by_rows) }
}

impl Over {
    /// The watermark comes: rows that it passes enter the frames of their keys, and what is complete goes out.
    pub(super) fn pass_around(
        &mut self,
        around: Around,
        watermark: Watermark,
        out: &mut Output,
    ) -> Result<()> {
        let due: Vec<(i64, Due)> = self.state.waiting.pop_until(watermark.0).collect();
        let mut slots = Vec::with_capacity(due.len());
        for (time, due) in due {
            slots.push(due.slot);
            match due.row {
                NO_ROW => self.state.positions[due.slot as usize].is_timed = false,
                row => self.state.push_frame(due.slot, time, row),
            }
        }
        if watermark == Watermark::MAX {
            slots.extend(self.state.pending_slots());
        }
        slots.sort_unstable();
        slots.dedup();
        self.complete(around, &slots, watermark, out)?;
        let oldest = self.state.oldest_pending();
        out.watermark(oldest.map_or(watermark, |oldest| watermark.min(Watermark(oldest.saturating_sub(1)))));
        Ok(())
    }

    /// Keys are about to be forgotten: no rows come behind those that wait.
    pub(super) fn finish_around(&mut self, around: Around, slots: &[u32], out: &mut Output) -> Result<()> {
        self.complete(around, slots, Watermark::MAX, out)
    }

    /// Emits the rows of keys whose frames are complete at a watermark.
    fn complete(
        &mut self,
        around: Around,
        slots: &[u32],
        watermark: Watermark,
        out: &mut Output,
    ) -> Result<()> {
        let shifts = self.node.calls.iter().filter_map(OverCall::as_shift).count();
        let mut complete = Complete { shifted: vec![vec![]; shifts], ..Complete::default() };
        for slot in slots {
            self.complete_key(around, *slot, watermark, &mut complete);
        }
        if !complete.released.rows.is_empty() {
            let rows = self.outputs_around(around, complete)?;
            out.data(ChangelogBatch::insert_only(rows));
        }
        self.state.store.close()
    }

    fn complete_key(&mut self, around: Around, slot: u32, watermark: Watermark, complete: &mut Complete) {
        let is_end = watermark == Watermark::MAX;
        let Position { mut from, mut to, mut next, .. } = self.state.positions[slot as usize];
        let first_line = complete.script.places.len();
        let (state, frame) = (&self.state, &self.state.frames[slot as usize]);
        let mut last_peer = next;
        while next < frame.len() && (is_end || around.is_complete(frame, next, watermark)) {
            let (time, row) = frame[next];
            if around.has_aggregates {
                let first = around.first_of(frame, next, from);
                for (_, left) in frame.range(from..first.min(to).max(from)) {
                    complete.script.push(state.store.place(*left), slot, true);
                }
                from = first.max(from);
                // what the frame has jumped over never was in it
                to = to.max(from);
                let end = around.end_of(frame, next, to).max(to);
                for (_, come) in frame.range(to..end) {
                    complete.script.push(state.store.place(*come), slot, false);
                }
                to = end;
                if complete.script.places.len() == first_line {
                    complete.script.push_question(state.store.place(row), slot);
                }
                complete.script.answers.push(complete.script.places.len() as u32 - 1);
            }
            if next >= last_peer {
                last_peer = next;
                while last_peer + 1 < frame.len() && frame[last_peer + 1].0 == time {
                    last_peer += 1;
                }
            }
            let shifts = self.node.calls.iter().filter_map(|call| match call {
                OverCall::Lag { offset, .. } => Some(last_peer.checked_sub(*offset)),
                OverCall::Lead { offset, .. } => Some(next.checked_add(*offset)),
                _ => None,
            });
            for (shifted, place) in complete.shifted.iter_mut().zip(shifts) {
                let found = place.and_then(|place| frame.get(place));
                shifted.push(found.map(|(_, row)| state.store.place(*row)));
            }
            complete.released.rows.push((time, Due { slot, row }));
            // the row may leave the store below, but is readable until that is closed
            complete.released.places.push(state.store.place(row));
            next += 1;
        }

        let mut kept = next.saturating_sub(around.look_back);
        if around.has_aggregates {
            kept = kept.min(if around.start.is_some() { from } else { to });
        }
        for _ in 0..kept {
            if let Some(row) = self.state.pop_frame(slot) {
                self.state.store.remove(row);
            }
        }
        let position = &mut self.state.positions[slot as usize];
        position.from = from.saturating_sub(kept);
        position.to = to.saturating_sub(kept);
        position.next = next - kept;
        self.state.look_again(slot, watermark);
    }

    fn outputs_around(&mut self, around: Around, complete: Complete) -> Result<RecordBatch> {
        let Complete { mut released, mut script, mut shifted } = complete;
        let rows = &released.rows;
        if !rows.is_sorted_by_key(|(time, due)| (*time, due.slot)) {
            let mut order: Vec<usize> = (0..rows.len()).collect();
            order.sort_by_key(|row| (rows[*row].0, rows[*row].1.slot));
            released = Released {
                rows: order.iter().map(|row| rows[*row]).collect(),
                places: order.iter().map(|row| released.places[*row]).collect(),
            };
            if around.has_aggregates {
                script.answers = order.iter().map(|row| script.answers[*row]).collect();
            }
            for shifted in &mut shifted {
                *shifted = order.iter().map(|row| shifted[*row]).collect();
            }
        }
        let mut columns = Vec::with_capacity(self.node.schema.fields().len());
        for column in 0..self.node.width {
            columns.push(self.state.store.gather_column(column, &released.places)?);
        }
        let aggregates = match around.has_aggregates {
            true => self.fold_script(script)?,
            false => vec![],
        };
        let shifts = self.shifted_values(&shifted, &released.places)?;
        let columns = self.with_results(columns, &released, aggregates, shifts)?;
        let options = RecordBatchOptions::new().with_row_count(Some(released.rows.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.node.schema), columns, &options)?)
    }
}

#[cfg(test)]
mod tests;
