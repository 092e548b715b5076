//! The groups of the windows, or slices, that are open.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use datafusion_common::Result;

use crate::changelog::ChangelogBatch;
use crate::operators::aggregate::{AggregateCall, Aggregates, KeyedAggregates};
use crate::operators::local_window_aggregate::Partials;
use crate::runtime::{Context, TableSnapshot};
use crate::state::{Due, Evictable, StateTable};
use crate::time::{LocalZone, Slicing, millis_of, timestamps_of};

/// The aggregates of all windows that have rows, by key and window, and which belong to which window. A
/// window, which may be a slice of one, is known by its end.
#[derive(Debug)]
pub(crate) struct OpenWindows {
    name: &'static str,
    keys: Vec<usize>,
    partials: Option<Partials>,
    /// Keyed by the keys and the end of the window. The counts are [`KNOWN`] more than there are rows
    /// less retractions: a group whose rows are all retracted stays known.
    pub(crate) groups: KeyedAggregates,
    /// The slots of each window, in the order in which they came.
    pub(crate) by_end: BTreeMap<i64, Vec<u32>>,
    /// When windows fire; `None`: it is not known here.
    schedule: Option<Schedule>,
}

/// When windows fire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    /// The zone of the ends of windows.
    pub zone: LocalZone,
    /// Whether they are over event time.
    pub rowtime: bool,
    /// Which windows there are, where the table has slices of them.
    pub slicing: Option<Slicing>,
    /// How long after their ends they take rows, in milliseconds.
    pub lateness: i64,
}

impl Schedule {
    /// The watermark with which the next window of a slice fires after `watermark`, or with which a window fires
    /// or, if it has, takes no rows any more.
    fn next(&self, end: i64, watermark: i64) -> i64 {
        let next = match self.slicing {
            Some(slicing) => slicing.windows_of(end).find(|end| !self.zone.has_passed(*end, watermark)),
            None if self.zone.has_passed(end, watermark) => Some(end.saturating_add(self.lateness)),
            None => Some(end),
        };
        next.map_or(i64::MAX, |end| self.zone.over_at(end).saturating_sub(1))
    }
}

/// The count of a group without rows; that of a slot in no window is 0.
const KNOWN: i64 = 1 << 62;

/// How much each row of a batch counts.
#[derive(Debug, Clone, Copy)]
enum Weights<'a> {
    /// One.
    Appended,
    /// One, or one less where it is taken back.
    Retracted(&'a [bool]),
    /// As many rows as it is the aggregate of.
    Partial(&'a [i64]),
}

impl Weights<'_> {
    #[inline]
    fn of(&self, row: usize) -> i64 {
        match self {
            Weights::Appended => 1,
            Weights::Retracted(retracted) if retracted[row] => -1,
            Weights::Retracted(_) => 1,
            Weights::Partial(rows) => rows[row],
        }
    }
}

/// The type in which the ends of windows are kept.
pub(crate) fn end_type() -> DataType {
    DataType::Timestamp(TimeUnit::Millisecond, None)
}

/// The columns `keys` of `input`, and that of the window's end.
pub(crate) fn key_fields(keys: &[usize], input: &Schema) -> Vec<Field> {
    let keys = keys.iter().map(|key| input.field(*key).clone());
    keys.chain([Field::new("$window_end", end_type(), false)]).collect()
}

impl OpenWindows {
    /// A table without rows, of the aggregates `calls` over `types` by the columns `keys`, whose fields
    /// and that of the window's end are `key_fields`. With `partials` the rows are partial aggregates.
    pub(crate) fn try_new(
        name: &'static str,
        keys: Vec<usize>,
        key_fields: Vec<Field>,
        aggregates: Aggregates,
        partials: Option<Partials>,
    ) -> Result<Self> {
        let groups = KeyedAggregates::of_windows(key_fields, aggregates)?;
        Ok(OpenWindows { name, keys, partials, groups, by_end: BTreeMap::new(), schedule: None })
    }

    /// The table of windows that fire so, which can be on disk until then.
    pub(crate) fn scheduled(self, schedule: Schedule) -> Self {
        OpenWindows { schedule: Some(schedule), ..self }
    }

    /// The rows whose windows are not late, and the ends of these windows. The others are counted.
    pub(crate) fn on_time(
        &self,
        changes: &ChangelogBatch,
        mut ends: Vec<i64>,
        is_late: impl Fn(i64) -> bool,
        cx: &Context<'_>,
    ) -> Result<(ChangelogBatch, Vec<i64>)> {
        // if any is late, the first to end is
        if ends.iter().min().is_none_or(|end| !is_late(*end)) {
            return Ok((changes.clone(), ends));
        }
        // rows of the same window often follow each other
        let mut last = None;
        let mut is_late = |end: i64| match last {
            Some((known, late)) if known == end => late,
            _ => {
                let late = is_late(end);
                last = Some((end, late));
                late
            }
        };
        let Some(first) = ends.iter().position(|end| is_late(*end)) else {
            return Ok((changes.clone(), ends));
        };
        let mut on_time = vec![true; first];
        on_time.extend(ends[first..].iter().map(|end| !is_late(*end)));
        let late = (first..ends.len()).filter(|row| !on_time[*row]);
        let late = match &self.partials {
            None => late.count(),
            Some(partials) => {
                let rows = partials.inputs(changes.batch());
                late.map(|row| usize::try_from(rows[row]).unwrap_or(0)).sum()
            }
        };
        cx.metrics.late_rows.add(late);
        let mut kept = on_time.iter();
        ends.retain(|_| kept.next().copied().unwrap_or_default());
        Ok((changes.filter(&BooleanArray::from(on_time))?, ends))
    }

    /// Folds rows into their windows; returns the slots of their groups.
    pub(crate) fn fold(&mut self, changes: &ChangelogBatch, ends: Vec<i64>) -> Result<Vec<u32>> {
        let slots = self.intern(changes, ends.clone())?;
        self.fold_into(changes, &slots, &ends)?;
        Ok(slots)
    }

    /// Folds rows into the groups of these slots.
    pub(crate) fn fold_into(&mut self, changes: &ChangelogBatch, slots: &[u32], ends: &[i64]) -> Result<()> {
        if let Some(partials) = &self.partials {
            let (rows, states) = (partials.rows(changes.batch()), partials.states(changes.batch()));
            register(&mut self.groups.counts, &mut self.by_end, slots, ends, Weights::Partial(rows));
            return self.groups.aggregates.merge_partial(slots, states);
        }
        let retracted = changes.kinds().map(|kinds| kinds.retractions());
        let weights = retracted.as_deref().map_or(Weights::Appended, Weights::Retracted);
        register(&mut self.groups.counts, &mut self.by_end, slots, ends, weights);
        self.groups.aggregates.accumulate(changes.batch(), slots, retracted.as_deref())
    }

    /// The slots of rows by key and window.
    pub(crate) fn intern(&mut self, changes: &ChangelogBatch, ends: Vec<i64>) -> Result<Vec<u32>> {
        let mut keys: Vec<ArrayRef> =
            self.keys.iter().map(|key| Arc::clone(changes.batch().column(*key))).collect();
        keys.push(timestamps_of(ends, &end_type())?);
        self.groups.intern(&keys, changes.num_rows())
    }

    /// The slots of the rows of a snapshot, whose first columns are the keys and the end of the window.
    pub(crate) fn slots_of(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Vec<u32>> {
        self.groups.intern(&columns[..=self.keys.len()], rows)
    }

    /// Counts a row of a window that is folded elsewhere.
    pub(crate) fn count(&mut self, slot: u32, end: i64, retracted: bool) {
        let weights = Weights::Retracted(&[retracted]);
        register(&mut self.groups.counts, &mut self.by_end, &[slot], &[end], weights);
    }

    /// The number of rows less retractions of a group.
    pub(crate) fn rows(&self, slot: u32) -> i64 {
        match self.groups.counts.as_deref().and_then(|counts| counts.get(slot as usize)) {
            None | Some(0) => 0,
            Some(count) => count - KNOWN,
        }
    }

    /// Those of the slots whose groups have rows.
    pub(crate) fn with_rows(&self, slots: &[u32]) -> Vec<u32> {
        slots.iter().copied().filter(|slot| self.rows(*slot) != 0).collect()
    }

    /// The keys of groups and the ends of their windows.
    pub(crate) fn keys_and_ends(&self, slots: &[u32]) -> Result<(Vec<ArrayRef>, Vec<i64>)> {
        let mut keys = self.groups.keys.columns(slots)?;
        let ends = match keys.pop() {
            Some(ends) => millis_of(&ends)?.into_owned(),
            None => vec![],
        };
        Ok((keys, ends))
    }

    /// Merges groups into groups of the same keys that belong to no window, made for the purpose and to be
    /// forgotten with [`OpenWindows::forget`]. Returns these, in the order of their first slots.
    pub(crate) fn merged(&mut self, slots: &[u32]) -> Result<Vec<u32>> {
        // the end of no window
        const MERGED: i64 = i64::MIN;
        let into = self.groups.in_window(slots, MERGED)?;
        self.groups.aggregates.merge_slots(&into, slots)?;
        let mut merged = vec![];
        if let Some(counts) = &mut self.groups.counts {
            for (into, from) in into.iter().zip(slots) {
                if counts[*into as usize] == 0 {
                    merged.push(*into);
                    counts[*into as usize] = KNOWN;
                }
                counts[*into as usize] += counts[*from as usize] - KNOWN;
            }
        }
        Ok(merged)
    }

    /// Forgets a window.
    pub(crate) fn close(&mut self, end: i64) {
        if let Some(slots) = self.by_end.remove(&end) {
            self.forget(&slots);
        }
    }

    /// Forgets groups that are in no window, or in one that is forgotten, too.
    pub(crate) fn forget(&mut self, slots: &[u32]) {
        self.groups.aggregates.clear(slots);
        self.groups.release(slots);
    }
}

/// Counts rows, and puts the groups that are new into their windows.
fn register(
    counts: &mut Option<Vec<i64>>,
    by_end: &mut BTreeMap<i64, Vec<u32>>,
    slots: &[u32],
    ends: &[i64],
    weights: Weights<'_>,
) {
    let Some(counts) = counts else { return };
    for (row, slot) in slots.iter().enumerate() {
        let count = &mut counts[*slot as usize];
        if *count == 0 {
            by_end.entry(ends[row]).or_default().push(*slot);
            *count = KNOWN;
        }
        *count += weights.of(row);
    }
}

/// The states of `calls` over rows of `input`, which may be retracted.
pub(crate) fn aggregates_of(calls: &[AggregateCall], input: &Schema, retracting: bool) -> Result<Aggregates> {
    let types: Vec<DataType> = input.fields().iter().map(|field| field.data_type().clone()).collect();
    Aggregates::try_new(calls, &types, retracting)
}

impl StateTable for OpenWindows {
    fn name(&self) -> &str {
        self.name
    }

    fn memory_size(&self) -> usize {
        let slots: usize = self.by_end.values().map(|slots| slots.capacity() * size_of::<u32>()).sum();
        self.groups.memory_size() + slots + self.by_end.len() * size_of::<(i64, Vec<u32>)>()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        Ok(TableSnapshot { name: self.name.to_string(), ..self.groups.snapshot()? })
    }

    fn restore(&mut self, rows: &RecordBatch) -> Result<()> {
        self.groups.restore(rows)?;
        let slots = self.slots_of(rows.columns(), rows.num_rows())?;
        let (_, ends) = self.keys_and_ends(&slots)?;
        for (slot, end) in slots.iter().zip(ends) {
            self.by_end.entry(end).or_default().push(*slot);
        }
        Ok(())
    }

    fn evictable(&self) -> Option<Evictable> {
        self.schedule.and_then(|_| self.groups.evictable())
    }

    fn due(&self, rows: &RecordBatch, watermark: i64) -> Result<Due> {
        let Some(schedule) = self.schedule else { return Ok(Due::default()) };
        let ends = millis_of(rows.column(self.keys.len()))?;
        Ok(match schedule.rowtime {
            true => Due::at_watermarks(ends.iter().map(|end| schedule.next(*end, watermark)).collect()),
            false => Due::at_times(ends.iter().map(|end| schedule.zone.over_at(*end)).collect()),
        })
    }
}
