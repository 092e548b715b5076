//! Slices that are open, and the windows made of them.

use std::collections::BTreeSet;

use datafusion_common::Result;

use super::SliceAggregateNode;
use crate::changelog::ChangelogBatch;
use crate::operators::window_aggregate::open::OpenWindows;
use crate::runtime::{Context, Operator, Output};
use crate::state::StateTable;
use crate::time::{Slicing, TimeWindow, Watermark, WindowAssigner, millis_of};

pub(super) struct SliceAggregate {
    node: SliceAggregateNode,
    slicing: Slicing,
    slices: OpenWindows,
}

impl SliceAggregate {
    pub(super) fn new(node: SliceAggregateNode, slices: OpenWindows) -> Self {
        let slicing = Slicing::of(node.windows.assigner());
        SliceAggregate { node, slicing, slices }
    }

    fn has_passed(&self, end: i64, watermark: Watermark) -> bool {
        self.node.windows.zone().has_passed(end, watermark.0)
    }

    /// The ends of the windows with rows that fire when the watermark goes from `before` to `now`.
    fn due(&self, before: Watermark, now: Watermark) -> BTreeSet<i64> {
        let mut due = BTreeSet::new();
        for slice in self.slices.by_end.keys() {
            if !self.has_passed(*slice, now) {
                break;
            }
            let windows = self.slicing.windows_of(*slice);
            let is_due = |end: &i64| self.has_passed(*end, now) && !self.has_passed(*end, before);
            due.extend(windows.filter(is_due));
        }
        due
    }

    /// The groups of the slices of a window, in the order in which Flink merges them, which LISTAGG shows: of
    /// the table function HOP from the last slice back.
    fn slots_of(&self, end: i64) -> Vec<u32> {
        let slices = self.slices.by_end.range(self.slicing.first_slice(end)..=end).map(|(_, slots)| slots);
        let windows = &self.node.windows;
        match windows.assigner() {
            WindowAssigner::Hop { .. } if !windows.is_of_group_by() => {
                slices.rev().flatten().copied().collect()
            }
            _ => slices.flatten().copied().collect(),
        }
    }

    /// The output for the window that ends at `end`.
    fn fire(&mut self, end: i64) -> Result<Option<ChangelogBatch>> {
        let slots = self.slots_of(end);
        if self.slicing.first_slice(end) == end {
            return self.rows_of(&slots, end);
        }
        let merged = self.slices.merged(&slots)?;
        let output = self.rows_of(&merged, end)?;
        self.slices.forget(&merged);
        Ok(output)
    }

    fn rows_of(&self, slots: &[u32], end: i64) -> Result<Option<ChangelogBatch>> {
        let slots = self.slices.with_rows(slots);
        if slots.is_empty() {
            return Ok(None);
        }
        let (keys, _) = self.slices.keys_and_ends(&slots)?;
        let windows = &self.node.windows;
        let window = TimeWindow { start: windows.assigner().start_of(end), end };
        let values = self.slices.groups.aggregates.evaluate(&slots)?;
        let of_windows = vec![window; slots.len()];
        let rows = self.node.group.rows(keys, &of_windows, windows.zone(), values, &self.node.schema)?;
        Ok(Some(ChangelogBatch::insert_only(rows)))
    }
}

impl Operator for SliceAggregate {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        _out: &mut Output,
    ) -> Result<()> {
        let ends = match &self.node.partials {
            Some(partials) => millis_of(changes.batch().column(partials.end()))?.into_owned(),
            None => {
                let times = self.node.windows.times(changes.batch())?;
                times.iter().map(|time| self.slicing.slice_end(*time)).collect()
            }
        };
        let is_late = |slice| self.has_passed(self.slicing.last_window(slice), cx.watermark);
        let (changes, ends) = self.slices.on_time(changes, ends, is_late, cx)?;
        if changes.num_rows() > 0 {
            self.slices.fold(&changes, ends)?;
        }
        Ok(())
    }

    fn on_watermark(&mut self, watermark: Watermark, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        for end in self.due(cx.watermark, watermark) {
            if let Some(output) = self.fire(end)? {
                out.data(output);
            }
        }
        while let Some((slice, _)) = self.slices.by_end.first_key_value() {
            let slice = *slice;
            if !self.has_passed(self.slicing.last_window(slice), watermark) {
                break;
            }
            self.slices.close(slice);
        }
        out.watermark(watermark);
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.slices]
    }
}
