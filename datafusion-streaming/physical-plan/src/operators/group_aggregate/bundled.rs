//! Groups that change bundle by bundle: Flink's mini-batch, and the second of two phases.
//!
//! Rows are folded as they come, not kept: of a bundle it is enough to know which groups it has
//! touched and what their aggregates were before. When it ends, each of these groups emits its net
//! change.
//!
//! Where the groups of a row-by-row aggregation end with their last row, those of a bundle only end
//! with the bundle: a row that follows meets the state that the retraction has left. And a group that
//! does not live passes over retractions only until the first row comes that adds to it.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::concat;
use arrow::datatypes::Int64Type;
use datafusion_common::{Result, internal_err};

use super::GroupAggregateNode;
use crate::changelog::ChangelogBatch;
use crate::operators::aggregate::{Bundle, Bundling, Changed, KeyedAggregates, NetChanges};
use crate::runtime::{Context, Flush, Operator, Output};
use crate::state::{StateTable, TouchedSlots};
use crate::time::Watermark;

pub(super) struct BundledGroupAggregate {
    node: GroupAggregateNode,
    groups: KeyedAggregates,
    bundle: Bundle,
    touched: TouchedSlots,
    /// By slot, for touched ones: the place of its values in `before`; `None`: it did not live.
    places: Vec<Option<u32>>,
    /// By slot, for touched ones: whether retractions count.
    started: Vec<bool>,
    /// The aggregates of the touched groups that lived, before the bundle.
    before: Vec<Vec<ArrayRef>>,
    before_rows: u32,
    /// The partial aggregates of the bundle: slots, and the columns of states.
    partials: Vec<(Vec<u32>, Vec<ArrayRef>)>,
    /// By slot, for touched ones: its number among them.
    numbers: Vec<u32>,
    next_sweep: Option<i64>,
}

impl BundledGroupAggregate {
    pub(super) fn new(node: GroupAggregateNode, bundling: Bundling, groups: KeyedAggregates) -> Self {
        BundledGroupAggregate {
            node,
            groups,
            bundle: Bundle::new(bundling),
            touched: TouchedSlots::default(),
            places: vec![],
            started: vec![],
            before: vec![],
            before_rows: 0,
            partials: vec![],
            numbers: vec![],
            next_sweep: None,
        }
    }

    /// Folds rows, or partial aggregates.
    fn add(&mut self, changes: &ChangelogBatch, cx: &Context<'_>) -> Result<()> {
        let now = cx.processing_time;
        self.groups.aggregates.set_time(now);
        let keys = self.node.key_columns(changes.batch());
        let mut slots = self.groups.intern(&keys, changes.num_rows())?;
        self.open(&slots, now)?;
        if self.node.partial {
            let columns = changes.batch().columns();
            let Some((counts, states)) = columns.get(keys.len()..).and_then(<[ArrayRef]>::split_first) else {
                return internal_err!("a partial aggregate without its number of rows");
            };
            let partial = counts.as_primitive::<Int64Type>();
            self.count(slots.iter().copied().zip(partial.values().iter().copied()));
            self.partials.push((slots, states.to_vec()));
            return Ok(());
        }
        let Some(kinds) = changes.kinds() else {
            slots.iter().for_each(|slot| self.started[*slot as usize] = true);
            self.count(slots.iter().map(|slot| (*slot, 1)));
            return self.groups.aggregates.accumulate(changes.batch(), &slots, None);
        };
        let mut retractions = kinds.retractions();
        let counted: Vec<u32> = (0..slots.len())
            .filter(|row| {
                let started = &mut self.started[slots[*row] as usize];
                *started |= !retractions[*row];
                *started
            })
            .map(|row| row as u32)
            .collect();
        let mut batch = changes.batch().clone();
        if counted.len() < slots.len() {
            cx.metrics.ignored_retractions.add(slots.len() - counted.len());
            let rows = counted.iter().map(|row| *row as usize);
            (slots, retractions) = rows.map(|row| (slots[row], retractions[row])).unzip();
            batch = changes.take(&counted)?.batch().clone();
        }
        let signs = retractions.iter().map(|retraction| if *retraction { -1 } else { 1 });
        self.count(slots.iter().copied().zip(signs));
        self.groups.aggregates.accumulate(&batch, &slots, Some(&retractions))
    }

    /// Takes note of groups that the bundle has not touched before, and of their aggregates.
    fn open(&mut self, slots: &[u32], now: i64) -> Result<()> {
        let room = self.groups.keys.slots();
        self.places.resize(room, None);
        self.started.resize(room, false);
        let opened = self.touched.touch(slots).to_vec();
        self.groups.forget_expired(&opened, self.node.ttl, now);
        let counts = self.groups.counts.as_deref().unwrap_or_default();
        let mut live = vec![];
        for slot in opened {
            let lives = counts[slot as usize] != 0;
            self.started[slot as usize] = lives;
            self.places[slot as usize] = lives.then_some(self.before_rows);
            if lives {
                live.push(slot);
                self.before_rows += 1;
            }
        }
        if !live.is_empty() {
            self.before.push(self.groups.aggregates.evaluate(&live)?);
        }
        Ok(())
    }

    fn count(&mut self, rows: impl Iterator<Item = (u32, i64)>) {
        let Some(counts) = &mut self.groups.counts else { return };
        rows.for_each(|(slot, rows)| counts[slot as usize] += rows);
    }

    /// Merges the partial aggregates of the bundle. As in Flink those of one group are merged with each other first:
    /// the sum of floats depends on it, and the order of what LISTAGG lists.
    fn merge_partials(&mut self, touched: &[u32]) -> Result<()> {
        let partials = std::mem::take(&mut self.partials);
        let rows: usize = partials.iter().map(|(slots, _)| slots.len()).sum();
        if rows == touched.len() {
            return partials
                .iter()
                .try_for_each(|(slots, states)| self.groups.aggregates.merge_partial(slots, states));
        }
        self.numbers.resize(self.groups.keys.slots(), 0);
        for (number, slot) in (0..).zip(touched) {
            self.numbers[*slot as usize] = number;
        }
        let mut merged = self.node.partial_aggregates()?;
        merged.grow(touched.len());
        for (slots, states) in &partials {
            let numbers: Vec<u32> = slots.iter().map(|slot| self.numbers[*slot as usize]).collect();
            merged.merge_partial(&numbers, states)?;
        }
        let all: Vec<u32> = (0..touched.len() as u32).collect();
        self.groups.aggregates.merge_partial(touched, &merged.partial(&all)?)
    }

    /// Emits the net changes of the bundle and starts another.
    fn finish(&mut self, now: i64, out: &mut Output) -> Result<()> {
        self.bundle.restart();
        let touched = self.touched.take();
        if touched.is_empty() {
            return Ok(());
        }
        self.groups.aggregates.set_time(now);
        self.merge_partials(&touched)?;
        let before = self.values_before()?;
        let counts = self.groups.counts.as_deref().unwrap_or_default();
        let (live, dead): (Vec<u32>, Vec<u32>) =
            touched.iter().partition(|slot| counts[**slot as usize] != 0);
        let after = self.groups.aggregates.evaluate(&live)?;
        let mut next = 0;
        let groups: Vec<Changed> = touched
            .iter()
            .map(|slot| {
                let after = (counts[*slot as usize] != 0).then_some(next);
                next += u32::from(after.is_some());
                Changed { slot: *slot, before: self.places[*slot as usize], after }
            })
            .collect();
        let changes = NetChanges::of(&groups, &before, &after, self.node.update_before)?;
        if !changes.is_empty() {
            let keys = self.groups.keys.columns(changes.slots())?;
            out.data(changes.batch(keys, &before, &after, &self.node.schema)?);
        }
        if let Some(written) = &mut self.groups.written {
            live.iter().for_each(|slot| written[*slot as usize] = now);
            self.next_sweep.get_or_insert(now.saturating_add(self.node.ttl));
        }
        self.groups.aggregates.clear(&dead);
        self.groups.release(&dead);
        Ok(())
    }

    /// The aggregates before the bundle, in one piece.
    fn values_before(&mut self) -> Result<Vec<ArrayRef>> {
        self.before_rows = 0;
        let pieces = std::mem::take(&mut self.before);
        let Some(first) = pieces.first() else { return self.groups.aggregates.evaluate(&[]) };
        let column = |column: usize| {
            let pieces: Vec<&dyn Array> = pieces.iter().map(|piece| piece[column].as_ref()).collect();
            Ok(concat(&pieces)?)
        };
        (0..first.len()).map(column).collect()
    }
}

impl Operator for BundledGroupAggregate {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let mut start = 0;
        while start < changes.num_rows() {
            let rows = self.bundle.room().min(changes.num_rows() - start);
            self.add(&changes.slice(start, rows), cx)?;
            start += rows;
            if self.bundle.add(rows, cx.processing_time) {
                self.finish(cx.processing_time, out)?;
            }
        }
        Ok(())
    }

    fn on_watermark(&mut self, watermark: Watermark, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        self.finish(cx.processing_time, out)?;
        out.watermark(watermark);
        Ok(())
    }

    fn flush(&mut self, _why: Flush, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        self.finish(cx.processing_time, out)
    }

    fn next_timer(&self) -> Option<i64> {
        [self.bundle.deadline(), self.next_sweep].into_iter().flatten().min()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        let now = cx.processing_time;
        self.finish(now, out)?;
        if self.next_sweep.is_some_and(|sweep| sweep <= now) {
            let live = self.groups.sweep(self.node.ttl, now);
            self.next_sweep = live.then(|| now.saturating_add(self.node.ttl));
        }
        Ok(())
    }

    /// A barrier ends the bundle: there is nothing of it to save.
    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.groups]
    }
}
