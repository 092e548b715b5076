//! Rows kept until their window fires: the state of window Top-N and window joins.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, UInt16Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion_common::Result;

use crate::changelog::ChangelogBatch;
use crate::runtime::{Context, TableSnapshot};
use crate::state::key_group::key_groups;
use crate::state::{RowBuffer, RowRef, StateTable};
use crate::time::{LocalZone, TimeWindow, Watermark, millis_of};

/// Where rows say which window they belong to.
#[derive(Debug, Clone, Copy)]
pub struct WindowColumns {
    /// The column of the window's start.
    pub start: usize,
    /// The column of the window's end.
    pub end: usize,
    /// The zone of their wall-clock times.
    pub zone: LocalZone,
}

/// Appended rows by window.
#[derive(Debug)]
pub(crate) struct WindowRows {
    name: &'static str,
    columns: WindowColumns,
    keys: Vec<usize>,
    buffer: RowBuffer,
    /// By end and start, so that windows come in the order in which they fire.
    windows: BTreeMap<(i64, i64), Vec<RowRef>>,
}

impl WindowRows {
    /// An empty table for rows of `schema`, of which `keys` decide the key group.
    pub(crate) fn new(
        name: &'static str,
        columns: WindowColumns,
        keys: Vec<usize>,
        schema: SchemaRef,
    ) -> Self {
        WindowRows { name, columns, keys, buffer: RowBuffer::new(schema), windows: BTreeMap::new() }
    }

    /// Keeps the rows whose windows have not fired; the others are late: counted and dropped. Returns
    /// the windows that got rows.
    pub(crate) fn add(&mut self, changes: &ChangelogBatch, cx: &Context<'_>) -> Result<Vec<TimeWindow>> {
        let ends = millis_of(changes.batch().column(self.columns.end))?;
        let on_time = ends.iter().map(|end| Some(!self.columns.zone.has_passed(*end, cx.watermark.0)));
        let on_time: BooleanArray = on_time.collect();
        cx.metrics.late_rows.add(on_time.false_count());
        self.keep(changes.filter(&on_time)?)
    }

    fn keep(&mut self, changes: ChangelogBatch) -> Result<Vec<TimeWindow>> {
        let mut touched = vec![];
        if changes.num_rows() == 0 {
            return Ok(touched);
        }
        let batch = changes.batch().clone();
        let starts = millis_of(batch.column(self.columns.start))?;
        let ends = millis_of(batch.column(self.columns.end))?;
        for ((row, start), end) in self.buffer.push(changes)?.zip(starts.iter()).zip(ends.iter()) {
            self.windows.entry((*end, *start)).or_default().push(row);
            let window = TimeWindow { start: *start, end: *end };
            if touched.last() != Some(&window) {
                touched.push(window);
            }
        }
        Ok(touched)
    }

    /// The first window in the order of firing, if it is over at `watermark`.
    pub(crate) fn due(&self, watermark: Watermark) -> Option<TimeWindow> {
        let ((end, start), _) = self.windows.first_key_value()?;
        let is_due = self.columns.zone.has_passed(*end, watermark.0);
        is_due.then_some(TimeWindow { start: *start, end: *end })
    }

    /// The number of rows of a window.
    pub(crate) fn rows(&self, window: TimeWindow) -> usize {
        self.windows.get(&(window.end, window.start)).map_or(0, Vec::len)
    }

    /// The rows of a window, in the order in which they came.
    pub(crate) fn get(&self, window: TimeWindow) -> Result<RecordBatch> {
        let rows = self.windows.get(&(window.end, window.start));
        Ok(self.buffer.gather(rows.map_or(&[], Vec::as_slice))?.into_parts().0)
    }

    /// Takes the rows of a window, in the order in which they came.
    pub(crate) fn take(&mut self, window: TimeWindow) -> Result<RecordBatch> {
        let batch = self.get(window)?;
        if let Some(rows) = self.windows.remove(&(window.end, window.start)) {
            self.buffer.release(&rows);
        }
        Ok(batch)
    }

    /// Keeps only these rows of a window, given by their ascending places.
    pub(crate) fn retain(&mut self, window: TimeWindow, places: &[u32]) {
        let Some(rows) = self.windows.get_mut(&(window.end, window.start)) else { return };
        let mut kept = places.iter().peekable();
        let (mut remaining, mut released) = (Vec::with_capacity(places.len()), vec![]);
        for (place, row) in rows.iter().enumerate() {
            match kept.next_if(|kept| **kept as usize == place) {
                Some(_) => remaining.push(*row),
                None => released.push(*row),
            }
        }
        *rows = remaining;
        self.buffer.release(&released);
    }
}

impl StateTable for WindowRows {
    fn name(&self) -> &str {
        self.name
    }

    fn memory_size(&self) -> usize {
        let rows: usize = self.windows.values().map(|rows| rows.capacity() * size_of::<RowRef>()).sum();
        self.buffer.memory_size() + rows + self.windows.len() * size_of::<((i64, i64), Vec<RowRef>)>()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let mut rows: Vec<RowRef> = self.windows.values().flatten().copied().collect();
        rows.sort_unstable();
        let (batch, _) = self.buffer.gather(&rows)?.into_parts();
        let keys: Vec<ArrayRef> = self.keys.iter().map(|key| Arc::clone(batch.column(*key))).collect();
        let groups = key_groups(&keys, batch.num_rows())?;
        let mut fields = vec![Field::new("key_group", DataType::UInt16, false)];
        fields.extend(batch.schema().fields().iter().map(|field| field.as_ref().clone()));
        let mut columns: Vec<ArrayRef> = vec![Arc::new(UInt16Array::from(groups))];
        columns.extend(batch.columns().iter().cloned());
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        Ok(TableSnapshot { name: self.name.to_string(), keyed: true, rows })
    }

    fn restore(&mut self, rows: &RecordBatch) -> Result<()> {
        let batch = RecordBatch::try_new(Arc::clone(self.buffer.schema()), rows.columns().to_vec())?;
        self.keep(ChangelogBatch::insert_only(batch))?;
        Ok(())
    }
}
