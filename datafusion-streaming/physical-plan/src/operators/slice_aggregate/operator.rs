//! Slices that are open, and the windows made of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use datafusion_common::Result;

use super::SliceAggregateNode;
use crate::changelog::ChangelogBatch;
use crate::operators::aggregate::KeyedAggregates;
use crate::operators::window_aggregate::GroupColumn;
use crate::runtime::{Context, Operator, Output, TableSnapshot};
use crate::state::StateTable;
use crate::time::{Slicing, Watermark, WindowAssigner, millis_of, timestamps_of};

pub(super) struct SliceAggregate {
    node: SliceAggregateNode,
    slicing: Slicing,
    keys: Vec<usize>,
    slices: OpenSlices,
}

/// The groups of all slices that have rows, and which belong to which slice.
struct OpenSlices {
    /// Keyed by the keys and the end of the slice.
    groups: KeyedAggregates,
    /// The slots of each slice, by its end.
    by_end: BTreeMap<i64, Vec<u32>>,
}

/// The end under which the merged slices of a window are kept while it fires: that of no slice.
const MERGED: i64 = i64::MIN;

impl SliceAggregate {
    pub(super) fn new(node: SliceAggregateNode, keys: Vec<usize>, groups: KeyedAggregates) -> Self {
        let slicing = Slicing::of(node.windows.assigner());
        SliceAggregate { node, slicing, keys, slices: OpenSlices { groups, by_end: BTreeMap::new() } }
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

    /// The output for the window that ends at `end`.
    fn fire(&mut self, end: i64) -> Result<Option<ChangelogBatch>> {
        let first = self.slicing.first_slice(end);
        let slices = self.slices.by_end.range(first..=end);
        let slices: Vec<&Vec<u32>> = match self.node.windows.assigner() {
            // Flink merges the slices of HOP from the last one back, which LISTAGG shows
            WindowAssigner::Hop { .. } => slices.rev().map(|(_, slots)| slots).collect(),
            _ => slices.map(|(_, slots)| slots).collect(),
        };
        let slots: Vec<u32> = slices.into_iter().flatten().copied().collect();
        let groups = &mut self.slices.groups;
        let mut keys = groups.keys.columns(&slots)?;
        keys.pop();
        keys.push(timestamps_of(vec![MERGED; slots.len()], &SliceAggregateNode::end_type())?);
        let into = groups.intern(&keys, slots.len())?;
        groups.aggregates.merge_slots(&into, &slots)?;
        let mut merged = vec![];
        if let Some(counts) = &mut groups.counts {
            for (into, from) in into.iter().zip(&slots) {
                if counts[*into as usize] == 0 {
                    merged.push(*into);
                    counts[*into as usize] = 1;
                }
                // as registered: one more than there are rows
                counts[*into as usize] += counts[*from as usize] - 1;
            }
        }
        let counts = groups.counts.as_deref().unwrap_or_default();
        let with_rows: Vec<u32> = merged.iter().copied().filter(|slot| counts[*slot as usize] > 1).collect();
        let output = if with_rows.is_empty() { None } else { Some(self.rows_of(&with_rows, end)?) };
        self.slices.drop_slots(&merged);
        Ok(output)
    }

    fn rows_of(&self, slots: &[u32], end: i64) -> Result<ChangelogBatch> {
        let groups = &self.slices.groups;
        let mut keys = groups.keys.columns(slots)?.into_iter();
        let windows = &self.node.windows;
        let mut columns: Vec<ArrayRef> = vec![];
        for (column, field) in self.node.group.iter().zip(self.node.schema.fields()) {
            let millis = match column {
                GroupColumn::Key(_) => {
                    columns.extend(keys.next());
                    continue;
                }
                GroupColumn::WindowStart => windows.assigner().start_of(end),
                GroupColumn::WindowEnd => end,
                GroupColumn::WindowTime => windows.zone().to_instant(end - 1),
            };
            columns.push(timestamps_of(vec![millis; slots.len()], field.data_type())?);
        }
        columns.extend(groups.aggregates.evaluate(slots)?);
        let options = RecordBatchOptions::new().with_row_count(Some(slots.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.node.schema), columns, &options)?;
        Ok(ChangelogBatch::insert_only(batch))
    }
}

impl OpenSlices {
    /// Puts groups that are new into their slices and counts rows.
    fn register(&mut self, slots: &[u32], ends: &[i64], retract: Option<&[bool]>) {
        let Some(counts) = &mut self.groups.counts else { return };
        for (row, slot) in slots.iter().enumerate() {
            let count = &mut counts[*slot as usize];
            if *count == 0 {
                self.by_end.entry(ends[row]).or_default().push(*slot);
                // one above the number of rows: a group whose rows are all retracted stays known
                *count = 1;
            }
            *count += if retract.is_some_and(|retract| retract[row]) { -1 } else { 1 };
        }
    }

    fn drop_slots(&mut self, slots: &[u32]) {
        self.groups.aggregates.clear(slots);
        self.groups.release(slots);
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
        let times = self.node.windows.times(changes.batch())?;
        let mut ends: Vec<i64> = times.iter().map(|time| self.slicing.slice_end(*time)).collect();
        let is_on_time = |end: &i64| !self.has_passed(self.slicing.last_window(*end), cx.watermark);
        let on_time: BooleanArray = ends.iter().map(|end| Some(is_on_time(end))).collect();
        cx.metrics.late_rows.add(on_time.false_count());
        if on_time.false_count() > 0 {
            ends.retain(is_on_time);
        }
        let changes = changes.filter(&on_time)?;
        if changes.num_rows() == 0 {
            return Ok(());
        }
        let mut keys: Vec<ArrayRef> =
            self.keys.iter().map(|key| Arc::clone(changes.batch().column(*key))).collect();
        keys.push(timestamps_of(ends.clone(), &SliceAggregateNode::end_type())?);
        let retract = changes.kinds().map(|kinds| kinds.retractions());
        let slots = self.slices.groups.intern(&keys, changes.num_rows())?;
        self.slices.register(&slots, &ends, retract.as_deref());
        self.slices.groups.aggregates.accumulate(changes.batch(), &slots, retract.as_deref())
    }

    fn on_watermark(&mut self, watermark: Watermark, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        for end in self.due(cx.watermark, watermark) {
            if let Some(output) = self.fire(end)? {
                out.data(output);
            }
        }
        while let Some((slice, _)) = self.slices.by_end.first_key_value() {
            if !self.has_passed(self.slicing.last_window(*slice), watermark) {
                break;
            }
            if let Some((_, slots)) = self.slices.by_end.pop_first() {
                self.slices.drop_slots(&slots);
            }
        }
        out.watermark(watermark);
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.slices]
    }
}

impl StateTable for OpenSlices {
    fn name(&self) -> &str {
        "slices"
    }

    fn memory_size(&self) -> usize {
        let slots: usize = self.by_end.values().map(|slots| slots.capacity() * size_of::<u32>()).sum();
        self.groups.memory_size() + slots + self.by_end.len() * size_of::<(i64, Vec<u32>)>()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        Ok(TableSnapshot { name: self.name().to_string(), ..self.groups.snapshot()? })
    }

    fn restore(&mut self, rows: &RecordBatch) -> Result<()> {
        let known = self.groups.keys.slots() as u32;
        self.groups.restore(rows)?;
        let slots: Vec<u32> = (known..self.groups.keys.slots() as u32).collect();
        if let Some(ends) = self.groups.keys.columns(&slots)?.pop() {
            for (slot, end) in slots.iter().zip(millis_of(&ends)?.iter()) {
                self.by_end.entry(*end).or_default().push(*slot);
            }
        }
        Ok(())
    }
}
