//! Mini-batch: of the rows of a key that come in a bundle, one is looked at.

use datafusion_common::Result;

use super::{DeduplicateNode, Keep};
use crate::changelog::ChangelogBatch;
use crate::operators::aggregate::Bundling;
use crate::operators::bundled::{Bundled, TakesBundles};
use crate::runtime::{Context, Operator, Output};
use crate::time::millis_of;

pub(super) struct BundledDeduplicate {
    node: DeduplicateNode,
    inner: Box<dyn Operator>,
    rows: Vec<ChangelogBatch>,
}

impl BundledDeduplicate {
    pub(super) fn new(node: DeduplicateNode, inner: Box<dyn Operator>, bundling: Bundling) -> Bundled<Self> {
        Bundled::new(BundledDeduplicate { node, inner, rows: vec![] }, bundling)
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
}

impl TakesBundles for BundledDeduplicate {
    fn push(&mut self, _port: usize, rows: ChangelogBatch) {
        self.rows.push(rows);
    }

    fn finish(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        match self.fold()? {
            Some(rows) => self.inner.process(0, &rows, cx, out),
            None => Ok(()),
        }
    }

    fn inner(&self) -> &dyn Operator {
        self.inner.as_ref()
    }

    fn inner_mut(&mut self) -> &mut dyn Operator {
        self.inner.as_mut()
    }
}
