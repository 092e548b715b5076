//! Mini-batch: of the rows of a key that come in a bundle, one is looked at.

use datafusion_common::Result;

use super::{DeduplicateNode, Keep};
use crate::changelog::ChangelogBatch;
use crate::operators::aggregate::{Bundle, Bundling};
use crate::runtime::{Context, Flush, Operator, Output};
use crate::state::StateTable;
use crate::time::{Watermark, millis_of};

pub(super) struct BundledDeduplicate {
    node: DeduplicateNode,
    inner: Box<dyn Operator>,
    bundle: Bundle,
    rows: Vec<ChangelogBatch>,
}

impl BundledDeduplicate {
    pub(super) fn new(node: DeduplicateNode, inner: Box<dyn Operator>, bundling: Bundling) -> Self {
        BundledDeduplicate { node, inner, bundle: Bundle::new(bundling), rows: vec![] }
    }

    /// Of each key the row that is left of the bundle, in the order in which these came.
    fn fold(&mut self) -> Result<Option<ChangelogBatch>> {
        let bundle = std::mem::take(&mut self.rows);
        if bundle.is_empty() {
            return Ok(None);
        }
        let rows = ChangelogBatch::concat(&self.node.schema, &bundle)?;
        let columns = rows.batch().columns();
        let mut interner = self.node.interner()?;
        let mut slots = vec![];
        interner.intern(&self.node.key_columns(columns), rows.num_rows(), &mut slots)?;
        let times = match self.node.is_rowtime() {
            true => Some(millis_of(&columns[self.node.time])?),
            false => None,
        };
        // of rows that came at one time, the later counts as the later
        let is_before = |row: usize, kept: usize| match &times {
            Some(times) => times[row] < times[kept],
            None => false,
        };
        let mut kept: Vec<Option<u32>> = vec![None; interner.slots()];
        for (row, slot) in slots.iter().enumerate() {
            let kept = &mut kept[*slot as usize];
            let replaces = match (*kept, self.node.keep) {
                (None, _) => true,
                (Some(known), Keep::First) => is_before(row, known as usize),
                (Some(known), Keep::Last) => !is_before(row, known as usize),
            };
            if replaces {
                *kept = Some(row as u32);
            }
        }
        let mut kept: Vec<u32> = kept.into_iter().flatten().collect();
        kept.sort_unstable();
        rows.take(&kept).map(Some)
    }

    fn finish(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        self.bundle.restart();
        match self.fold()? {
            Some(rows) => self.inner.process(0, &rows, cx, out),
            None => Ok(()),
        }
    }
}

impl Operator for BundledDeduplicate {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let mut first = 0;
        while first < changes.num_rows() {
            let rows = self.bundle.room().min(changes.num_rows() - first);
            self.rows.push(changes.slice(first, rows));
            first += rows;
            if self.bundle.add(rows, cx.processing_time) {
                self.finish(cx, out)?;
            }
        }
        Ok(())
    }

    fn on_watermark(&mut self, watermark: Watermark, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        self.finish(cx, out)?;
        self.inner.on_watermark(watermark, cx, out)
    }

    fn flush(&mut self, why: Flush, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        self.finish(cx, out)?;
        self.inner.flush(why, cx, out)
    }

    fn next_timer(&self) -> Option<i64> {
        self.bundle.deadline().into_iter().chain(self.inner.next_timer()).min()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        if self.bundle.deadline().is_some_and(|deadline| deadline <= cx.processing_time) {
            self.finish(cx, out)?;
        }
        match self.inner.next_timer().is_some_and(|timer| timer <= cx.processing_time) {
            true => self.inner.on_timer(cx, out),
            false => Ok(()),
        }
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        self.inner.tables()
    }
}
