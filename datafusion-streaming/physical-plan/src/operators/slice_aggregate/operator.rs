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

    /// Puts out what windows come to, given by their ends, in their order. Those that are one slice are put
    /// out together.
    fn fire(&mut self, ends: BTreeSet<i64>, out: &mut Output) -> Result<()> {
        let mut fired = Fired::default();
        for end in ends {
            let slots = self.slots_of(end);
            if self.slicing.first_slice(end) == end {
                fired.add(self.slices.with_rows(&slots), self.window(end));
                continue;
            }
            self.put_out(std::mem::take(&mut fired), out)?;
            let merged = self.slices.merged(&slots)?;
            fired.add(self.slices.with_rows(&merged), self.window(end));
            self.put_out(std::mem::take(&mut fired), out)?;
            self.slices.forget(&merged);
        }
        self.put_out(fired, out)
    }

    fn window(&self, end: i64) -> TimeWindow {
        TimeWindow { start: self.node.windows.assigner().start_of(end), end }
    }

    fn put_out(&self, Fired { slots, windows }: Fired, out: &mut Output) -> Result<()> {
        if slots.is_empty() {
            return Ok(());
        }
        let (keys, _) = self.slices.keys_and_ends(&slots)?;
        let values = self.slices.groups.aggregates.evaluate(&slots)?;
        let zone = self.node.windows.zone();
        let rows = self.node.group.rows(keys, &windows, zone, values, &self.node.schema)?;
        out.data(ChangelogBatch::insert_only(rows));
        Ok(())
    }
}

/// Groups to put out: their slots and their windows.
#[derive(Debug, Default)]
struct Fired {
    slots: Vec<u32>,
    windows: Vec<TimeWindow>,
}

impl Fired {
    fn add(&mut self, slots: Vec<u32>, window: TimeWindow) {
        self.windows.resize(self.windows.len() + slots.len(), window);
        self.slots.extend(slots);
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
        self.fire(self.due(cx.watermark, watermark), out)?;
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
