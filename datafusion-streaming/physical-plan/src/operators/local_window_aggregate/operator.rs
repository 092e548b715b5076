//! Partial aggregates of slices.

use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch};
use datafusion_common::Result;

use super::LocalWindowAggregateNode;
use crate::changelog::ChangelogBatch;
use crate::operators::window_aggregate::open::OpenWindows;
use crate::runtime::{Context, Flush, Operator, Output};
use crate::state::StateTable;
use crate::time::Watermark;

/// From so many bytes on all slices leave: the second phase has them in any case.
const FULL: usize = 64 << 20;

/// Above so many bytes the memory is given back when all slices have left.
const KEPT: usize = 1 << 20;

pub(super) struct LocalWindowAggregate {
    node: LocalWindowAggregateNode,
    slices: OpenWindows,
    /// By slot: how many rows came, retractions included. Kept where there may be any.
    inputs: Vec<i64>,
}

impl LocalWindowAggregate {
    pub(super) fn new(node: LocalWindowAggregateNode, slices: OpenWindows) -> Self {
        LocalWindowAggregate { node, slices, inputs: vec![] }
    }

    /// Emits the slices up to the first that is to stay.
    fn emit(&mut self, stays: impl Fn(i64) -> bool, out: &mut Output) -> Result<()> {
        let ends: Vec<i64> = self.slices.by_end.keys().copied().take_while(|end| !stays(*end)).collect();
        if ends.is_empty() {
            return Ok(());
        }
        let slots: Vec<u32> =
            ends.iter().filter_map(|end| self.slices.by_end.get(end)).flatten().copied().collect();
        let mut columns = self.slices.groups.partial_columns(&slots, |slot| self.slices.rows(slot))?;
        if self.node.retracting {
            let inputs = slots.iter().map(|slot| self.inputs[*slot as usize]);
            let place = self.node.keys.len() + 1;
            columns.insert(place, Arc::new(Int64Array::from_iter_values(inputs)));
            slots.iter().for_each(|slot| self.inputs[*slot as usize] = 0);
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.node.schema), columns)?;
        out.data(ChangelogBatch::insert_only(batch));
        ends.iter().for_each(|end| self.slices.close(*end));
        if self.slices.by_end.is_empty() && self.slices.memory_size() > KEPT {
            self.slices = self.node.open()?;
            self.inputs = vec![];
        }
        Ok(())
    }
}

impl Operator for LocalWindowAggregate {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        _cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let ends = self.node.slices.ends(changes.batch())?;
        let slots = self.slices.fold(changes, ends)?;
        if self.node.retracting {
            self.inputs.resize(self.slices.groups.keys.slots(), 0);
            slots.iter().for_each(|slot| self.inputs[*slot as usize] += 1);
        }
        match self.slices.memory_size() > FULL {
            true => self.emit(|_| false, out),
            false => Ok(()),
        }
    }

    fn on_watermark(&mut self, watermark: Watermark, _cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        let zone = self.node.slices.zone();
        self.emit(|end| !zone.has_passed(end, watermark.0), out)?;
        out.watermark(watermark);
        Ok(())
    }

    fn flush(&mut self, _why: Flush, _cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        self.emit(|_| false, out)
    }

    /// A barrier lets all slices go, so that there is never anything to save.
    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.slices]
    }
}
