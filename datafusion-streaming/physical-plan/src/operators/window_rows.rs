//! Rows kept until their window fires: the state of window Top-N and window joins.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::SchemaRef;
use arrow::row::{Row, RowConverter, SortField};
use datafusion_common::Result;

use crate::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use crate::runtime::{Context, TableSnapshot};
use crate::state::{Due, Evictable, RowBuffer, RowRef, StateTable, keyed_snapshot};
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

/// Appended rows by window. A window takes rows until an allowed lateness has passed since its end.
#[derive(Debug)]
pub(crate) struct WindowRows {
    name: &'static str,
    columns: WindowColumns,
    lateness: i64,
    keys: Vec<usize>,
    buffer: RowBuffer,
    /// By end and start, so that windows come in the order in which they fire.
    windows: BTreeMap<(i64, i64), Vec<RowRef>>,
}

impl WindowRows {
    /// An empty table for rows of `schema`, of which `keys` decide the key group, with an allowed
    /// lateness in milliseconds.
    pub(crate) fn new(
        name: &'static str,
        columns: WindowColumns,
        keys: Vec<usize>,
        schema: SchemaRef,
        lateness: i64,
    ) -> Self {
        let buffer = RowBuffer::new(schema);
        WindowRows { name, columns, lateness, keys, buffer, windows: BTreeMap::new() }
    }

    /// Whether a window that ends at `end` has fired when the watermark stands at `watermark`.
    fn has_fired(&self, end: i64, watermark: Watermark) -> bool {
        self.columns.zone.has_passed(end, watermark.0)
    }

    /// Whether it takes no rows any more by then.
    fn is_gone(&self, end: i64, watermark: Watermark) -> bool {
        self.columns.zone.has_passed(end.saturating_add(self.lateness), watermark.0)
    }

    /// The rows whose windows take rows; the others are late, and counted.
    fn on_time(&self, changes: &ChangelogBatch, cx: &Context<'_>) -> Result<ChangelogBatch> {
        let ends = millis_of(changes.batch().column(self.columns.end))?;
        if ends.iter().min().is_none_or(|end| !self.is_gone(*end, cx.watermark)) {
            return Ok(changes.clone());
        }
        let on_time: BooleanArray = ends.iter().map(|end| Some(!self.is_gone(*end, cx.watermark))).collect();
        cx.metrics.late_rows.add(on_time.false_count());
        changes.filter(&on_time)
    }

    /// Keeps the rows whose windows have not fired and returns these windows. Rows of windows that have, but
    /// take rows still, are returned one by one, since each is an update of its own; others are dropped.
    pub(crate) fn add(&mut self, changes: &ChangelogBatch, cx: &Context<'_>) -> Result<Added> {
        let changes = self.on_time(changes, cx)?;
        let mut late: Vec<(TimeWindow, u32)> = vec![];
        if self.lateness > 0 {
            let starts = millis_of(changes.batch().column(self.columns.start))?;
            let ends = millis_of(changes.batch().column(self.columns.end))?;
            for (row, (start, end)) in (0u32..).zip(starts.iter().zip(ends.iter())) {
                if self.has_fired(*end, cx.watermark) {
                    late.push((TimeWindow { start: *start, end: *end }, row));
                }
            }
        }
        if late.is_empty() {
            return Ok(Added { windows: self.keep(changes)?, late: vec![] });
        }
        let mut is_early = vec![true; changes.num_rows()];
        late.iter().for_each(|(_, row)| is_early[*row as usize] = false);
        let windows = self.keep(changes.filter(&BooleanArray::from(is_early))?)?;
        let late = late.into_iter().map(|(window, row)| (window, changes.slice(row as usize, 1))).collect();
        Ok(Added { windows, late })
    }

    /// Keeps rows; returns their windows.
    pub(crate) fn keep(&mut self, changes: ChangelogBatch) -> Result<Vec<TimeWindow>> {
        let mut touched = vec![];
        if changes.num_rows() == 0 {
            return Ok(touched);
        }
        let batch = changes.batch().clone();
        let starts = millis_of(batch.column(self.columns.start))?;
        let ends = millis_of(batch.column(self.columns.end))?;
        let mut rows = self.buffer.push(changes)?;
        // rows of the same window often follow each other
        let mut first = 0;
        while first < ends.len() {
            let window = (ends[first], starts[first]);
            let next = (first..ends.len()).find(|row| (ends[*row], starts[*row]) != window);
            let count = next.unwrap_or(ends.len()) - first;
            self.windows.entry(window).or_default().extend(rows.by_ref().take(count));
            touched.push(TimeWindow { start: window.1, end: window.0 });
            first += count;
        }
        Ok(touched)
    }

    /// The windows that fire when the watermark goes from `before` to `now`, in the order in which they do.
    pub(crate) fn due(&self, before: Watermark, now: Watermark) -> Vec<TimeWindow> {
        let window = |(end, start): &(i64, i64)| TimeWindow { start: *start, end: *end };
        let passed = self.windows.keys().take_while(|(end, _)| self.has_fired(*end, now));
        passed.filter(|(end, _)| !self.has_fired(*end, before)).map(window).collect()
    }

    /// Forgets the windows that take no rows any more.
    pub(crate) fn forget_gone(&mut self, now: Watermark) {
        while let Some((window, _)) = self.windows.first_key_value() {
            let window = *window;
            if !self.is_gone(window.0, now) {
                break;
            }
            if let Some(rows) = self.windows.remove(&window) {
                self.buffer.release(&rows);
            }
        }
    }

    /// The number of rows of a window.
    pub(crate) fn rows(&self, window: TimeWindow) -> usize {
        self.refs(window).len()
    }

    /// The rows of a window, in the order in which they came.
    pub(crate) fn get(&self, window: TimeWindow) -> Result<RecordBatch> {
        Ok(self.buffer.gather(self.refs(window))?.into_parts().0)
    }

    /// The rows of several windows, one window behind the other.
    pub(crate) fn get_all(&self, windows: &[TimeWindow]) -> Result<RecordBatch> {
        let rows: Vec<RowRef> = windows.iter().flat_map(|window| self.refs(*window)).copied().collect();
        Ok(self.buffer.gather(&rows)?.into_parts().0)
    }

    fn refs(&self, window: TimeWindow) -> &[RowRef] {
        self.windows.get(&(window.end, window.start)).map_or(&[], Vec::as_slice)
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

/// The changelog mode of what is made of windows' rows, with an allowed lateness.
pub(crate) fn window_rows_mode(lateness: i64) -> ChangelogMode {
    match lateness {
        0 => ChangelogMode::INSERT_ONLY,
        _ => ChangelogMode::INSERT_ONLY.with(RowKind::Delete),
    }
}

/// What has been added to windows.
pub(crate) struct Added {
    /// The windows that have not fired and have got rows.
    pub windows: Vec<TimeWindow>,
    /// The rows of windows that have fired, not kept yet.
    pub late: Vec<(TimeWindow, ChangelogBatch)>,
}

/// What changes if the rows of one table take the place of those of another: rows that are in both stay.
pub(crate) fn replaced(before: &RecordBatch, after: &RecordBatch) -> Result<Option<ChangelogBatch>> {
    let schema = before.schema();
    let fields = schema.fields().iter().map(|field| SortField::new(field.data_type().clone()));
    let rows = RowConverter::new(fields.collect())?;
    let (olds, news) = (rows.convert_columns(before.columns())?, rows.convert_columns(after.columns())?);
    let mut places: HashMap<Row<'_>, Vec<u32>> = HashMap::new();
    for (place, row) in (0u32..).zip(olds.iter()) {
        places.entry(row).or_default().push(place);
    }
    let mut added = vec![];
    for (place, row) in (0u32..).zip(news.iter()) {
        if places.get_mut(&row).and_then(Vec::pop).is_none() {
            added.push(place);
        }
    }
    let mut removed: Vec<u32> = places.into_values().flatten().collect();
    if removed.is_empty() && added.is_empty() {
        return Ok(None);
    }
    removed.sort_unstable();
    let kinds = std::iter::repeat_n(RowKind::Delete, removed.len());
    let kinds = kinds.chain(std::iter::repeat_n(RowKind::Insert, added.len())).collect();
    let removed = take_record_batch(before, &UInt32Array::from(removed))?;
    let added = take_record_batch(after, &UInt32Array::from(added))?;
    ChangelogBatch::try_new(concat_batches(&schema, [&removed, &added])?, kinds).map(Some)
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
        keyed_snapshot(self.name, &self.keys, &batch, vec![])
    }

    fn restore(&mut self, rows: &RecordBatch) -> Result<()> {
        let batch = RecordBatch::try_new(Arc::clone(self.buffer.schema()), rows.columns().to_vec())?;
        self.keep(ChangelogBatch::insert_only(batch))?;
        Ok(())
    }

    fn evictable(&self) -> Option<Evictable> {
        Some(Evictable { keys: self.keys.clone(), ttl: 0 })
    }

    fn due(&self, rows: &RecordBatch, watermark: i64) -> Result<Due> {
        let next = |end: &i64| {
            // first the window fires, then it goes
            let end = match self.has_fired(*end, Watermark(watermark)) {
                true => end.saturating_add(self.lateness),
                false => *end,
            };
            self.columns.zone.over_at(end).saturating_sub(1)
        };
        Ok(Due::at_watermarks(millis_of(rows.column(self.columns.end))?.iter().map(next).collect()))
    }
}
