//! The life of groups: which row starts one, which ends one, which is of none.

use std::sync::Arc;

use arrow::array::ArrayRef;
use datafusion_common::Result;
use datafusion_streaming_udfs::aggregate::{Fate, OutputLayout};

use super::GroupAggregateNode;
use super::emit::{Emission, emit};
use crate::changelog::ChangelogBatch;
use crate::operators::aggregate::KeyedAggregates;
use crate::runtime::{Context, Operator, Output};
use crate::state::{StateTable, distinct_where};

pub(super) struct GroupAggregate {
    node: GroupAggregateNode,
    groups: KeyedAggregates,
    /// When state that nobody asks for is looked through for what has expired.
    next_sweep: Option<i64>,
}

/// The rows of a batch that touch a group, and how.
struct Lives {
    /// The slot of each row that counts.
    slots: Vec<u32>,
    /// What the row does to its group.
    fates: Vec<Fate>,
    /// Which rows these are; `None`: all of the batch.
    rows: Option<Vec<u32>>,
    /// Slots without a group when the batch is done.
    dead: Vec<u32>,
}

impl GroupAggregate {
    pub(super) fn new(node: GroupAggregateNode, groups: KeyedAggregates) -> Self {
        GroupAggregate { node, groups, next_sweep: None }
    }

    /// Finds the group of each row. A retraction of a group that does not live is ignored, as in
    /// Flink, and counted.
    fn trace(&mut self, changes: &ChangelogBatch, cx: &Context<'_>) -> Result<Lives> {
        let keys: Vec<ArrayRef> =
            self.node.keys.iter().map(|key| Arc::clone(changes.batch().column(*key))).collect();
        self.groups.aggregates.set_time(cx.processing_time);
        let known = self.groups.keys.slots() as u32;
        let slots = self.groups.intern(&keys, changes.num_rows())?;
        self.groups.forget_expired(&slots, self.node.ttl, cx.processing_time);
        let Some(counts) = &mut self.groups.counts else {
            let fates = fates_of_appends(&slots, known);
            return Ok(Lives { slots, fates, rows: None, dead: vec![] });
        };

        let mut fates = Vec::with_capacity(slots.len());
        let mut ignored = vec![];
        let mut dead = vec![];
        for (row, slot) in slots.iter().enumerate() {
            let count = &mut counts[*slot as usize];
            let retraction = changes.kind(row).is_retraction();
            let fate = match (*count, retraction) {
                (0, true) => {
                    ignored.push(row);
                    dead.push(*slot);
                    continue;
                }
                (0, false) => Fate::First,
                (1, true) => {
                    dead.push(*slot);
                    Fate::Last
                }
                _ => Fate::Update,
            };
            *count += if retraction { -1 } else { 1 };
            fates.push(fate);
        }
        let dead = distinct_where(dead, |slot| counts[slot as usize] == 0);
        if ignored.is_empty() {
            return Ok(Lives { slots, fates, rows: None, dead });
        }
        cx.metrics.ignored_retractions.add(ignored.len());
        let mut is_ignored = vec![false; slots.len()];
        for row in ignored {
            is_ignored[row] = true;
        }
        let rows: Vec<u32> = (0..slots.len() as u32).filter(|row| !is_ignored[*row as usize]).collect();
        let slots = rows.iter().map(|row| slots[*row as usize]).collect();
        Ok(Lives { slots, fates, rows: Some(rows), dead })
    }

    fn touch(&mut self, slots: &[u32], now: i64) {
        let Some(written) = &mut self.groups.written else { return };
        for slot in slots {
            written[*slot as usize] = now;
        }
        self.next_sweep.get_or_insert(now.saturating_add(self.node.ttl));
    }
}

/// Without retractions a group starts with the row that made its slot.
fn fates_of_appends(slots: &[u32], known: u32) -> Vec<Fate> {
    let mut next = known;
    let fate = |slot: &u32| {
        if *slot == next {
            next += 1;
            Fate::First
        } else {
            Fate::Update
        }
    };
    slots.iter().map(fate).collect()
}

impl Operator for GroupAggregate {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let lives = self.trace(changes, cx)?;
        let changes = match &lives.rows {
            Some(rows) => &changes.take(rows)?,
            None => changes,
        };
        if changes.num_rows() > 0 {
            let retractions = changes.kinds().map(|kinds| kinds.retractions());
            let layout = match self.node.update_before {
                true => OutputLayout::Pairs,
                false => OutputLayout::Single,
            };
            let folded = self.groups.aggregates.fold(
                changes.batch(),
                &lives.slots,
                retractions.as_deref(),
                &lives.fates,
                layout,
            )?;
            self.touch(&lives.slots, cx.processing_time);
            let keys = self.node.keys.iter().map(|key| Arc::clone(changes.batch().column(*key))).collect();
            let emission =
                Emission { keys, folded, fates: &lives.fates, layout, unchanged: self.node.ttl > 0 };
            if let Some(output) = emit(emission, &self.node.schema)? {
                out.data(output);
            }
        }
        self.groups.release(&lives.dead);
        Ok(())
    }

    fn next_timer(&self) -> Option<i64> {
        self.next_sweep
    }

    /// Gives back the memory of groups that have expired.
    fn on_timer(&mut self, cx: &mut Context<'_>, _out: &mut Output) -> Result<()> {
        let now = cx.processing_time;
        let live = self.groups.sweep(self.node.ttl, now);
        self.next_sweep = live.then(|| now.saturating_add(self.node.ttl));
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.groups]
    }
}
