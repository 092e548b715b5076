//! Windows that are open, and their firing.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::TimestampMillisecondType;
use datafusion_common::{Result, internal_err};

use super::{GroupColumn, WindowAggregateNode};
use crate::changelog::ChangelogBatch;
use crate::operators::aggregate::KeyedAggregates;
use crate::runtime::{Context, Operator, Output, TableSnapshot};
use crate::state::StateTable;
use crate::time::{Watermark, millis_of, timestamps_of};

pub(super) struct WindowAggregate {
    node: WindowAggregateNode,
    keys: Vec<usize>,
    windows: OpenWindows,
}

/// The groups of all windows that have rows, and which belong to which window.
struct OpenWindows {
    /// Keyed by the keys and the end of the window.
    groups: KeyedAggregates,
    /// The slots of each window, by its end.
    by_end: BTreeMap<i64, Vec<u32>>,
}

impl WindowAggregate {
    pub(super) fn new(node: WindowAggregateNode, keys: Vec<usize>, groups: KeyedAggregates) -> Self {
        WindowAggregate { node, keys, windows: OpenWindows { groups, by_end: BTreeMap::new() } }
    }

    /// Whether a window that ends at `end` has fired when the watermark stands at `watermark`.
    fn has_fired(&self, end: i64, watermark: Watermark) -> bool {
        self.node.zone.has_passed(end, watermark)
    }

    /// The rows whose windows have not fired; the others are counted.
    fn without_late(&self, changes: &ChangelogBatch, cx: &Context<'_>) -> Result<ChangelogBatch> {
        let ends = millis_of(changes.batch().column(self.node.window_end))?;
        let on_time: BooleanArray =
            ends.iter().map(|end| Some(!self.has_fired(*end, cx.watermark))).collect();
        cx.metrics.late_rows.add(on_time.false_count());
        changes.filter(&on_time)
    }

    /// The output for the groups in `slots`.
    fn rows_of(&self, slots: &[u32]) -> Result<ChangelogBatch> {
        let groups = &self.windows.groups;
        let mut key_columns = groups.keys.columns(slots)?;
        let Some(ends) = key_columns.pop() else {
            return internal_err!("a window aggregate without window ends");
        };
        let ends = ends.as_primitive::<TimestampMillisecondType>().values();
        let mut keys = key_columns.into_iter();
        let mut columns: Vec<ArrayRef> = vec![];
        for (column, field) in self.node.group.iter().zip(self.node.schema.fields()) {
            let millis: Vec<i64> = match column {
                GroupColumn::Key(_) => {
                    columns.extend(keys.next());
                    continue;
                }
                GroupColumn::WindowStart => {
                    ends.iter().map(|end| self.node.assigner.start_of(*end)).collect()
                }
                GroupColumn::WindowEnd => ends.to_vec(),
                GroupColumn::WindowTime => {
                    ends.iter().map(|end| self.node.zone.to_instant(end - 1)).collect()
                }
            };
            columns.push(timestamps_of(millis, field.data_type())?);
        }
        columns.extend(groups.aggregates.evaluate(slots)?);
        let options = RecordBatchOptions::new().with_row_count(Some(slots.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.node.schema), columns, &options)?;
        Ok(ChangelogBatch::insert_only(batch))
    }
}

impl OpenWindows {
    /// Puts groups that are new into their windows. `counts` tells which are: a group without rows
    /// is in no window.
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
}

impl Operator for WindowAggregate {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        _out: &mut Output,
    ) -> Result<()> {
        let changes = self.without_late(changes, cx)?;
        if changes.num_rows() == 0 {
            return Ok(());
        }
        let ends = millis_of(changes.batch().column(self.node.window_end))?;
        let mut keys: Vec<ArrayRef> =
            self.keys.iter().map(|key| Arc::clone(changes.batch().column(*key))).collect();
        keys.push(timestamps_of(ends.to_vec(), &WindowAggregateNode::window_end_type())?);
        let retract = changes.kinds().map(|kinds| kinds.retractions());
        let slots = self.windows.groups.intern(&keys, changes.num_rows())?;
        self.windows.register(&slots, &ends, retract.as_deref());
        self.windows.groups.aggregates.accumulate(changes.batch(), &slots, retract.as_deref())
    }

    fn on_watermark(&mut self, watermark: Watermark, _cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        let mut fired = vec![];
        while let Some(entry) = self.windows.by_end.first_entry() {
            if !self.node.zone.has_passed(*entry.key(), watermark) {
                break;
            }
            fired.extend(entry.remove());
        }
        if !fired.is_empty() {
            let counts = self.windows.groups.counts.as_deref().unwrap_or_default();
            let with_rows: Vec<u32> =
                fired.iter().copied().filter(|slot| counts[*slot as usize] > 1).collect();
            out.data(self.rows_of(&with_rows)?);
            self.windows.groups.aggregates.clear(&fired);
            self.windows.groups.release(&fired);
        }
        out.watermark(watermark);
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.windows]
    }
}

impl StateTable for OpenWindows {
    fn name(&self) -> &str {
        "windows"
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
