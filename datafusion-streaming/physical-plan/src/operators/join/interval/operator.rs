//! Rows to their partners, and away when none can come any more.

use arrow::array::RecordBatch;
use datafusion_common::Result;

use super::IntervalJoinNode;
use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::join::candidates::{IncomingBatch, Matches};
use crate::operators::join::emission::Emission;
use crate::operators::join::side::{JoinKeys, JoinSide, NONE};
use crate::operators::join::{LEFT, RIGHT};
use crate::runtime::{Context, Operator, Output};
use crate::state::{StateTable, TimeQueue, distinct_where};
use crate::time::{Watermark, millis_of};

pub(super) struct IntervalJoin {
    node: IntervalJoinNode,
    keys: JoinKeys,
    sides: [JoinSide; 2],
    times: [Times; 2],
    /// For each side a time up to which its rows have been dropped. Flink's start at the epoch, so
    /// that rows before it find no partners.
    dropped: [i64; 2],
}

/// The times of a side's rows.
#[derive(Default)]
struct Times {
    /// By row.
    of_row: Vec<i64>,
    /// The rows by the last time that a partner may have.
    ends: TimeQueue<u32>,
}

impl Times {
    /// Adds rows with their times and the last times of their partners; there are ids for `room` rows.
    fn add(&mut self, rows: impl Iterator<Item = (u32, i64, i64)>, room: usize) {
        self.of_row.resize(self.of_row.len().max(room), 0);
        for (id, time, end) in rows {
            self.of_row[id as usize] = time;
            self.ends.push(end, id);
        }
    }

    /// Takes out the rows whose partners are all before the watermark.
    fn pop_ended(&mut self, watermark: Watermark) -> Vec<u32> {
        let before = if watermark == Watermark::MAX { i64::MAX } else { watermark.0.saturating_sub(1) };
        self.ends.pop_until(before).map(|(_, id)| id).collect()
    }
}

impl IntervalJoin {
    pub(super) fn new(node: IntervalJoinNode, keys: JoinKeys, sides: [JoinSide; 2]) -> Self {
        IntervalJoin { node, keys, sides, times: Default::default(), dropped: [0, 0] }
    }

    fn link_restored(&mut self) -> Result<()> {
        for port in [LEFT, RIGHT] {
            let side = &mut self.sides[port];
            let ids = side.link_restored(&mut self.keys)?;
            if ids.is_empty() {
                continue;
            }
            let columns = side.rows.columns(&ids)?;
            let times = millis_of(&columns[self.node.interval.times[port]])?;
            let interval = self.node.interval;
            let rows =
                ids.iter().zip(times.iter()).map(|(id, time)| (*id, *time, interval.partners(port, *time).1));
            self.times[port].add(rows, self.sides[port].rows.ids());
        }
        for side in &mut self.sides {
            side.grow(self.keys.slots());
        }
        Ok(())
    }

    /// Which rows of `port` at these times look for partners.
    fn seeks(&mut self, port: usize, times: &[i64], watermark: Watermark) -> Vec<bool> {
        let interval = self.node.interval;
        let dropped = &mut self.dropped[1 - port];
        let seek = |time: &i64| {
            let seeks = *dropped < interval.partners(port, *time).1;
            if seeks && watermark != Watermark::MAX {
                let reach = interval.partners(1 - port, 0).1;
                *dropped = watermark.0.saturating_sub(reach).saturating_sub(1);
            }
            seeks
        };
        times.iter().map(seek).collect()
    }

    /// Drops the rows of a side for which no partner can come any more, padded if they had none.
    fn expire(&mut self, port: usize, watermark: Watermark, out: &mut Output) -> Result<()> {
        let ended = self.times[port].pop_ended(watermark);
        if ended.is_empty() {
            return Ok(());
        }
        let side = &mut self.sides[port];
        if self.node.padded[port] {
            let nothing = RecordBatch::new_empty(self.node.inputs[1 - port].clone());
            let nothing = ChangelogBatch::insert_only(nothing);
            let (columns, schema) = (&self.node.columns, &self.node.schema);
            let mut emission = Emission::new(1 - port, &nothing, columns, schema, out);
            for id in ended.iter().filter(|id| side.matches(**id) == 0) {
                emission.push(side, NONE, *id, RowKind::Insert)?;
            }
            emission.flush(side)?;
        }
        let slots: Vec<u32> = ended.iter().map(|id| side.remove(*id)).collect();
        side.rows.close()?;
        self.release(slots);
        Ok(())
    }

    /// Gives back the slots of keys of which no side has a row.
    fn release(&mut self, slots: Vec<u32>) {
        let has_rows = |slot| self.sides.iter().any(|side| side.has_rows(slot));
        self.keys.release(&distinct_where(slots, |slot| slot != NONE && !has_rows(slot)));
    }
}

impl Operator for IntervalJoin {
    fn process(
        &mut self,
        port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        self.link_restored()?;
        let interval = self.node.interval;
        let columns = changes.batch().columns();
        let keys = self.sides[port].key_columns(columns);
        let slots = self.keys.slots_of(&keys, changes.num_rows())?;
        for side in &mut self.sides {
            side.grow(self.keys.slots());
        }
        let times = millis_of(&columns[interval.times[port]])?;
        let seeks = self.seeks(port, &times, cx.watermark);
        let [left, right] = &mut self.sides;
        let (this, other) = if port == LEFT { (left, right) } else { (right, left) };
        let [left_times, right_times] = &mut self.times;
        let (own_times, other_times) =
            if port == LEFT { (left_times, right_times) } else { (right_times, left_times) };

        this.rows.open(changes.batch())?;
        let mut emission = Emission::new(port, changes, &self.node.columns, &self.node.schema, out);
        let batch = IncomingBatch { port, changes, slots: &slots, now: cx.processing_time };
        let accept = |row: usize, id: u32| {
            let (first, last) = interval.partners(port, times[row]);
            seeks[row] && (first..=last).contains(&other_times.of_row[id as usize])
        };
        let (mut first, mut unused) = (0, vec![]);
        // the rows that may have partners yet, and whether they have had one
        let (mut kept, mut kept_matches) = (vec![], vec![]);
        while first < slots.len() {
            let matches = Matches::of(first, &batch, other, self.node.residual.as_ref(), accept)?;
            for (row, ids) in matches.iter() {
                for id in ids {
                    emission.push(other, row as u32, *id, RowKind::Insert)?;
                    other.set_matches(*id, 1, 0);
                }
                let end = interval.partners(port, times[row]).1;
                if slots[row] != NONE && !interval.is_empty() && cx.watermark.0 < end {
                    kept.push(row as u32);
                    kept_matches.push(ids.len().min(1) as u32);
                } else {
                    unused.push(slots[row]);
                    if ids.is_empty() && self.node.padded[port] {
                        emission.push(other, row as u32, NONE, RowKind::Insert)?;
                    }
                }
            }
            first = matches.end();
        }
        emission.flush(other)?;
        let ids = this.append(&kept, &slots, &kept_matches, cx.processing_time)?;
        let rows = ids.iter().zip(&kept).map(|(id, row)| {
            let time = times[*row as usize];
            (*id, time, interval.partners(port, time).1)
        });
        own_times.add(rows, this.rows.ids());
        this.rows.close()?;

        self.release(unused);
        Ok(())
    }

    fn on_watermark(&mut self, watermark: Watermark, _cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        self.link_restored()?;
        for port in [LEFT, RIGHT] {
            self.expire(port, watermark, out)?;
        }
        out.watermark(match watermark {
            Watermark::MAX => Watermark::MAX,
            Watermark(millis) => Watermark(millis.saturating_sub(self.node.interval.delay())),
        });
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        let [left, right] = &mut self.sides;
        vec![&mut self.keys, left, right]
    }
}
