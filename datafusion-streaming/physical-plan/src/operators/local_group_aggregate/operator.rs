//! Partial aggregates of a bundle.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use datafusion_common::Result;

use super::LocalGroupAggregateNode;
use crate::changelog::ChangelogBatch;
use crate::operators::aggregate::{Bundle, KeyedAggregates};
use crate::runtime::{Context, Flush, Operator, Output};
use crate::state::{StateTable, TouchedSlots};
use crate::time::Watermark;

/// Above so many groups or bytes the memory of a bundle is given back when it is done.
const KEPT_GROUPS: usize = 128;
const KEPT_BYTES: usize = 1 << 20;

pub(super) struct LocalGroupAggregate {
    node: LocalGroupAggregateNode,
    groups: KeyedAggregates,
    bundle: Bundle,
    touched: TouchedSlots,
}

impl LocalGroupAggregate {
    pub(super) fn new(node: LocalGroupAggregateNode, groups: KeyedAggregates) -> Self {
        let bundle = Bundle::new(node.bundling);
        LocalGroupAggregate { node, groups, bundle, touched: TouchedSlots::default() }
    }

    fn add(&mut self, changes: &ChangelogBatch) -> Result<()> {
        let keys: Vec<ArrayRef> =
            self.node.keys.iter().map(|key| Arc::clone(changes.batch().column(*key))).collect();
        let slots = self.groups.intern(&keys, changes.num_rows())?;
        self.touched.touch(&slots);
        let retractions = changes.kinds().map(|kinds| kinds.retractions());
        if let Some(counts) = &mut self.groups.counts {
            for (row, slot) in slots.iter().enumerate() {
                let retraction = retractions.as_ref().is_some_and(|retractions| retractions[row]);
                counts[*slot as usize] += if retraction { -1 } else { 1 };
            }
        }
        self.groups.aggregates.accumulate(changes.batch(), &slots, retractions.as_deref())
    }

    /// Emits the partial aggregates of the bundle and starts another.
    fn finish(&mut self, out: &mut Output) -> Result<()> {
        self.bundle.restart();
        let slots = self.touched.take();
        if slots.is_empty() {
            return Ok(());
        }
        let counts = self.groups.counts.as_deref().unwrap_or_default();
        let columns = self.groups.partial_columns(&slots, |slot| counts[slot as usize])?;
        let batch = RecordBatch::try_new(Arc::clone(&self.node.schema), columns)?;
        out.data(ChangelogBatch::insert_only(batch));
        if slots.len() > KEPT_GROUPS || self.groups.memory_size() > KEPT_BYTES {
            self.groups = self.node.groups()?;
            self.touched = TouchedSlots::default();
        } else {
            self.groups.aggregates.clear(&slots);
            self.groups.release(&slots);
        }
        Ok(())
    }
}

impl Operator for LocalGroupAggregate {
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
            self.add(&changes.slice(start, rows))?;
            start += rows;
            if self.bundle.add(rows, cx.processing_time) {
                self.finish(out)?;
            }
        }
        Ok(())
    }

    fn on_watermark(&mut self, watermark: Watermark, _cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        self.finish(out)?;
        out.watermark(watermark);
        Ok(())
    }

    fn flush(&mut self, _why: Flush, _cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        self.finish(out)
    }

    fn next_timer(&self) -> Option<i64> {
        self.bundle.deadline()
    }

    fn on_timer(&mut self, _cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        self.finish(out)
    }

    /// A barrier flushes the bundle, so that there is never anything to save.
    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.groups]
    }
}
