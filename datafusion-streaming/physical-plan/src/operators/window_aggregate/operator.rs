//! Windows that are open, and their firing.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, TimestampMillisecondType};
use datafusion_common::{Result, internal_err};

use super::{GroupColumn, WindowAggregateNode};
use crate::changelog::ChangelogBatch;
use crate::operators::aggregate::KeyedAggregates;
use crate::runtime::{Context, Operator, Output, TableSnapshot};
use crate::state::StateTable;
use crate::time::{Watermark, millis_of, timestamps_of};

pub(super) struct WindowAggregate {
    pub(super) node: WindowAggregateNode,
    keys: Vec<usize>,
    pub(super) windows: OpenWindows,
}

/// The groups of all windows that have rows, and which belong to which window.
pub(super) struct OpenWindows {
    /// Keyed by the keys and the end of the window.
    pub(super) groups: KeyedAggregates,
    /// The slots of each window, by its end.
    by_end: BTreeMap<i64, Vec<u32>>,
}

impl WindowAggregate {
    pub(super) fn new(node: WindowAggregateNode, keys: Vec<usize>, groups: KeyedAggregates) -> Self {
        WindowAggregate { node, keys, windows: OpenWindows { groups, by_end: BTreeMap::new() } }
    }

    /// Whether a window that ends at `end` has fired when the watermark stands at `watermark`.
    pub(super) fn has_fired(&self, end: i64, watermark: Watermark) -> bool {
        self.node.zone.has_passed(end, watermark.0)
    }

    /// Whether its state is gone by then, too.
    fn is_gone(&self, end: i64, watermark: Watermark) -> bool {
        self.node.zone.has_passed(end.saturating_add(self.node.lateness), watermark.0)
    }

    /// The rows whose windows are not gone; the others are late, and counted.
    fn without_late(&self, changes: &ChangelogBatch, cx: &Context<'_>) -> Result<ChangelogBatch> {
        let ends = millis_of(changes.batch().column(self.node.window_end))?;
        let on_time: BooleanArray = ends.iter().map(|end| Some(!self.is_gone(*end, cx.watermark))).collect();
        cx.metrics.late_rows.add(on_time.false_count());
        changes.filter(&on_time)
    }

    /// The slots of rows by key and window.
    pub(super) fn intern(&mut self, changes: &ChangelogBatch, ends: &[i64]) -> Result<Vec<u32>> {
        let mut keys: Vec<ArrayRef> =
            self.keys.iter().map(|key| Arc::clone(changes.batch().column(*key))).collect();
        keys.push(timestamps_of(ends.to_vec(), &WindowAggregateNode::window_end_type())?);
        self.windows.groups.intern(&keys, changes.num_rows())
    }

    /// The columns of the window in the output, for windows that end at `ends`; `None` for a key.
    pub(super) fn window_column(
        &self,
        column: GroupColumn,
        ends: &[i64],
        data_type: &DataType,
    ) -> Result<Option<ArrayRef>> {
        let ends = ends.iter();
        let millis: Vec<i64> = match column {
            GroupColumn::Key(_) => return Ok(None),
            GroupColumn::WindowStart => ends.map(|end| self.node.assigner.start_of(*end)).collect(),
            GroupColumn::WindowEnd => ends.copied().collect(),
            GroupColumn::WindowTime => ends.map(|end| self.node.zone.to_instant(end - 1)).collect(),
        };
        timestamps_of(millis, data_type).map(Some)
    }

    /// Emits the windows that are over at `now` and were not at `before`, and forgets those whose state is
    /// needed no longer.
    fn fire(&mut self, before: Watermark, now: Watermark, out: &mut Output) -> Result<()> {
        let counts = self.windows.groups.counts.as_deref().unwrap_or_default();
        let (mut fired, mut gone) = (vec![], vec![]);
        for (end, slots) in &self.windows.by_end {
            if !self.has_fired(*end, now) {
                break;
            }
            if !self.has_fired(*end, before) {
                fired.extend(slots.iter().copied().filter(|slot| counts[*slot as usize] > 1));
            }
            if self.is_gone(*end, now) {
                gone.push(*end);
            }
        }
        if !fired.is_empty() {
            out.data(self.rows_of(&fired)?);
        }
        for end in gone {
            let slots = self.windows.by_end.remove(&end).unwrap_or_default();
            self.windows.groups.aggregates.clear(&slots);
            self.windows.groups.release(&slots);
        }
        Ok(())
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
            columns.extend(match self.window_column(*column, ends, field.data_type())? {
                Some(column) => Some(column),
                None => keys.next(),
            });
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
    pub(super) fn register(&mut self, slots: &[u32], ends: &[i64], retract: Option<&[bool]>) {
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
        out: &mut Output,
    ) -> Result<()> {
        let mut changes = match self.node.proctime {
            true => changes.clone(),
            false => self.without_late(changes, cx)?,
        };
        if self.node.lateness > 0 {
            changes = self.update_fired(changes, cx, out)?;
        }
        if changes.num_rows() == 0 {
            return Ok(());
        }
        let ends = millis_of(changes.batch().column(self.node.window_end))?;
        let retract = changes.kinds().map(|kinds| kinds.retractions());
        let slots = self.intern(&changes, &ends)?;
        self.windows.register(&slots, &ends, retract.as_deref());
        self.windows.groups.aggregates.accumulate(changes.batch(), &slots, retract.as_deref())
    }

    fn on_watermark(&mut self, watermark: Watermark, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        if !self.node.proctime {
            self.fire(cx.watermark, watermark, out)?;
        }
        out.watermark(watermark);
        Ok(())
    }

    fn next_timer(&self) -> Option<i64> {
        let first = self.windows.by_end.first_key_value().filter(|_| self.node.proctime);
        first.map(|(end, _)| self.node.zone.over_at(*end))
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        self.fire(Watermark::MIN, Watermark(cx.processing_time - 1), out)
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
