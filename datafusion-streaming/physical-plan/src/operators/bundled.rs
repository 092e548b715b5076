//! Mini-batch in front of an operator.

use datafusion_common::Result;

use super::aggregate::{Bundle, Bundling};
use crate::changelog::ChangelogBatch;
use crate::runtime::{Context, Flush, Operator, Output};
use crate::state::StateTable;
use crate::time::Watermark;

/// An operator that takes rows by bundles.
pub(super) trait TakesBundles: Send {
    /// Keeps rows of the bundle.
    fn push(&mut self, port: usize, rows: ChangelogBatch);

    /// Gives the operator what is left of the rows kept, of which none stay.
    fn finish(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Result<()>;

    /// The operator.
    fn inner(&self) -> &dyn Operator;

    /// The operator.
    fn inner_mut(&mut self) -> &mut dyn Operator;
}

/// Ends bundles by their size and latency, at watermarks, barriers and the end.
pub(super) struct Bundled<B> {
    operator: B,
    bundle: Bundle,
}

impl<B: TakesBundles> Bundled<B> {
    pub(super) fn new(operator: B, bundling: Bundling) -> Self {
        Bundled { operator, bundle: Bundle::new(bundling) }
    }

    fn finish(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        self.bundle.restart();
        self.operator.finish(cx, out)
    }
}

impl<B: TakesBundles> Operator for Bundled<B> {
    fn process(
        &mut self,
        port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let mut first = 0;
        while first < changes.num_rows() {
            let rows = self.bundle.room().min(changes.num_rows() - first);
            self.operator.push(port, changes.slice(first, rows));
            first += rows;
            if self.bundle.add(rows, cx.processing_time) {
                self.finish(cx, out)?;
            }
        }
        Ok(())
    }

    fn on_watermark(&mut self, watermark: Watermark, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        self.finish(cx, out)?;
        self.operator.inner_mut().on_watermark(watermark, cx, out)
    }

    fn flush(&mut self, why: Flush, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        self.finish(cx, out)?;
        self.operator.inner_mut().flush(why, cx, out)
    }

    fn next_timer(&self) -> Option<i64> {
        self.bundle.deadline().into_iter().chain(self.operator.inner().next_timer()).min()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        if self.bundle.deadline().is_some_and(|deadline| deadline <= cx.processing_time) {
            self.finish(cx, out)?;
        }
        match self.operator.inner().next_timer().is_some_and(|timer| timer <= cx.processing_time) {
            true => self.operator.inner_mut().on_timer(cx, out),
            false => Ok(()),
        }
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        self.operator.inner_mut().tables()
    }
}
