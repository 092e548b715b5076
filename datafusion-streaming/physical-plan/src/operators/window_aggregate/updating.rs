//! Windows that emit more than once: before their ends, or for late rows.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{Field, Schema};
use datafusion_common::Result;
use datafusion_streaming_udfs::aggregate::{Fate, OutputLayout};

use super::WindowAggregateNode;
use super::open::OpenWindows;
use super::results::WindowResults;
use crate::changelog::ChangelogBatch;
use crate::operators::aggregate::{Changed, NetChanges};
use crate::operators::group_aggregate::emit::{Emission, emit};
use crate::runtime::{Context, Operator, Output};
use crate::state::StateTable;
use crate::time::{TimeWindow, Watermark, millis_of};

pub(super) struct UpdatingWindows {
    node: WindowAggregateNode,
    results: WindowResults,
}

/// When what a row changes is emitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// With the row.
    AtOnce,
    /// After the delay.
    Every(i64),
    /// At the end of the window.
    AtEnd,
}

impl UpdatingWindows {
    pub(super) fn new(node: WindowAggregateNode, windows: OpenWindows) -> Self {
        let values = node.schema.fields().iter().skip(node.group.len());
        let values: Vec<Field> = values.map(|field| field.as_ref().clone().with_nullable(true)).collect();
        UpdatingWindows { results: WindowResults::new(windows, Arc::new(Schema::new(values))), node }
    }

    fn pace(&self, slot: u32, end: i64, watermark: Watermark) -> Pace {
        let emit = self.node.emit;
        if self.node.window.rowtime && self.node.has_fired(end, watermark) {
            return match (emit.late, self.results.of(slot).on_time) {
                (0, _) | (_, false) => Pace::AtOnce,
                (delay, true) => Pace::Every(delay),
            };
        }
        match emit.early {
            None => Pace::AtEnd,
            Some(0) => Pace::AtOnce,
            Some(delay) => Pace::Every(delay),
        }
    }

    /// Folds rows and emits what each changes.
    fn emit_rows(&mut self, rows: Rows, out: &mut Output) -> Result<()> {
        let Rows { changes, slots, ends, .. } = rows;
        let retract = changes.kinds().map(|kinds| kinds.retractions());
        let mut fates = Vec::with_capacity(slots.len());
        for (row, (slot, end)) in slots.iter().zip(&ends).enumerate() {
            self.results.windows.count(*slot, *end, retract.as_ref().is_some_and(|retract| retract[row]));
            let is_out = self.results.windows.rows(*slot) != 0;
            fates.push(match (self.results.of(*slot).is_out, is_out) {
                (false, _) => Fate::First,
                (true, true) => Fate::Update,
                (true, false) => Fate::Last,
            });
            self.results.set_out(*slot, is_out);
        }
        let layout = OutputLayout::Pairs;
        let aggregates = &mut self.results.windows.groups.aggregates;
        let folded = aggregates.fold(changes.batch(), &slots, retract.as_deref(), &fates, layout)?;
        let keys = self.node.group.keys();
        let keys: Vec<ArrayRef> = keys.iter().map(|key| Arc::clone(changes.batch().column(*key))).collect();
        let keys = self.group_columns(keys, &ends)?;
        let emission = Emission { keys, folded, fates: &fates, layout, unchanged: false };
        if let Some(changes) = emit(emission, &self.node.schema)? {
            out.data(changes);
        }
        Ok(())
    }

    /// Folds rows, of which the results are emitted later.
    fn hold_rows(&mut self, rows: Rows, cx: &Context<'_>) -> Result<()> {
        self.results.hold(&rows.slots)?;
        for (slot, pace) in rows.slots.iter().zip(&rows.paces) {
            if let Pace::Every(delay) = pace {
                self.results.schedule(*slot, *delay, cx.processing_time);
            }
        }
        self.results.windows.fold_into(&rows.changes, &rows.slots, &rows.ends)
    }

    /// Emits what has changed of these groups since they emitted last.
    fn emit_groups(&mut self, slots: &[u32], out: &mut Output) -> Result<()> {
        let slots = self.results.changed(slots);
        if slots.is_empty() {
            return Ok(());
        }
        let windows = &self.results.windows;
        let before = self.results.values_out(&slots)?;
        let after = windows.groups.aggregates.evaluate(&windows.with_rows(&slots))?;
        let (mut befores, mut afters) = (0.., 0..);
        let changed = |slot: &u32| Changed {
            slot: *slot,
            before: self.results.of(*slot).is_out.then(|| befores.next()).flatten(),
            after: (windows.rows(*slot) != 0).then(|| afters.next()).flatten(),
        };
        let groups: Vec<Changed> = slots.iter().map(changed).collect();
        let changes = NetChanges::of(&groups, &before, &after, true)?;
        if !changes.is_empty() {
            let (keys, ends) = windows.keys_and_ends(changes.slots())?;
            let keys = self.group_columns(keys, &ends)?;
            out.data(changes.batch(keys, &before, &after, &self.node.schema)?);
        }
        self.results.emitted(&slots);
        Ok(())
    }

    fn group_columns(&self, keys: Vec<ArrayRef>, ends: &[i64]) -> Result<Vec<ArrayRef>> {
        let node = &self.node;
        let window = |end: &i64| TimeWindow { start: node.window.assigner.start_of(*end), end: *end };
        let windows: Vec<TimeWindow> = ends.iter().map(window).collect();
        node.group.columns(keys, &windows, node.zone, &node.schema)
    }

    /// Emits the windows whose ends are passed on the way from `before` to `now`, and forgets those that
    /// take no rows any more.
    fn pass(&mut self, before: Watermark, now: Watermark, cx: &Context<'_>, out: &mut Output) -> Result<()> {
        let (mut ended, mut gone) = (vec![], vec![]);
        for (end, slots) in &self.results.windows.by_end {
            if !self.node.has_fired(*end, now) {
                break;
            }
            if !self.node.has_fired(*end, before) {
                // a window fires at its end but once, be the state another's
                ended.extend(slots.iter().copied().filter(|slot| !self.results.of(*slot).on_time));
            }
            if self.node.is_gone(*end, now) {
                gone.push(*end);
            }
        }
        self.emit_groups(&ended, out)?;
        let emit = self.node.emit;
        self.results.end(&ended, emit.early == Some(emit.late));
        let lost: usize = gone.into_iter().map(|end| self.results.close(end)).sum();
        cx.metrics.late_rows.add(lost);
        Ok(())
    }
}

/// Rows on their way into their groups.
struct Rows {
    changes: ChangelogBatch,
    slots: Vec<u32>,
    ends: Vec<i64>,
    paces: Vec<Pace>,
}

impl Rows {
    /// The rows that are emitted at once, or the others.
    fn those(&self, at_once: bool) -> Result<Option<Rows>> {
        let is_wanted = |row: &u32| (self.paces[*row as usize] == Pace::AtOnce) == at_once;
        let rows: Vec<u32> = (0..self.paces.len() as u32).filter(is_wanted).collect();
        if rows.is_empty() {
            return Ok(None);
        }
        Ok(Some(Rows {
            changes: match rows.len() == self.paces.len() {
                true => self.changes.clone(),
                false => self.changes.take(&rows)?,
            },
            slots: rows.iter().map(|row| self.slots[*row as usize]).collect(),
            ends: rows.iter().map(|row| self.ends[*row as usize]).collect(),
            paces: rows.iter().map(|row| self.paces[*row as usize]).collect(),
        }))
    }
}

impl Operator for UpdatingWindows {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let ends = millis_of(changes.batch().column(self.node.window_end))?.into_owned();
        let is_late = |end| self.node.window.rowtime && self.node.is_gone(end, cx.watermark);
        let (changes, ends) = self.results.windows.on_time(changes, ends, is_late, cx)?;
        if changes.num_rows() == 0 {
            return Ok(());
        }
        let slots = self.results.windows.intern(&changes, ends.clone())?;
        self.results.grow();
        let pace = |(slot, end): (&u32, &i64)| self.pace(*slot, *end, cx.watermark);
        let paces = slots.iter().zip(&ends).map(pace).collect();
        let rows = Rows { changes, slots, ends, paces };
        // all rows of a group have the same pace: none overtakes another of its group
        if let Some(rows) = rows.those(true)? {
            self.emit_rows(rows, out)?;
        }
        if let Some(rows) = rows.those(false)? {
            self.hold_rows(rows, cx)?;
        }
        Ok(())
    }

    fn on_watermark(&mut self, watermark: Watermark, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        if self.node.window.rowtime {
            self.pass(cx.watermark, watermark, cx, out)?;
        }
        out.watermark(watermark);
        Ok(())
    }

    fn next_timer(&self) -> Option<i64> {
        let first = self.results.windows.by_end.first_key_value();
        let end = first.filter(|_| !self.node.window.rowtime).map(|(end, _)| self.node.zone.over_at(*end));
        [self.results.next_due(), end].into_iter().flatten().min()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        let due = self.results.take_due(cx.processing_time);
        self.emit_groups(&due, out)?;
        match self.node.window.rowtime {
            true => Ok(()),
            false => self.pass(Watermark::MIN, Watermark(cx.processing_time - 1), cx, out),
        }
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.results]
    }
}
