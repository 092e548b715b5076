//! Mini-batch: what comes on either side is folded before it is joined, as in Flink's
//! MiniBatchStreamingJoinOperator.
//!
//! Of an input with a unique key, the old row from before the bundle and the new one after it are left
//! of all changes of a key; of one without, what is not taken back within the bundle.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::{JoinType, Result};

use super::operator::RegularJoin;
use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::aggregate::Bundling;
use crate::operators::bundled::{Bundled, TakesBundles};
use crate::operators::join::{LEFT, RIGHT};
use crate::runtime::{Context, Operator, Output};
use crate::state::KeyInterner;

pub(super) struct BundledJoin {
    join: RegularJoin,
    inputs: [Input; 2],
    /// Which input is joined first: the padded one last, so that fewer pads are taken back.
    order: [usize; 2],
}

/// The changes of an input since the bundle began.
pub(super) struct Input {
    schema: SchemaRef,
    /// The columns that identify a row; `None`: there is no such key.
    unique_key: Option<Vec<usize>>,
    changes: Vec<ChangelogBatch>,
}

impl Input {
    pub(super) fn new(schema: SchemaRef, unique_key: Option<Vec<usize>>) -> Self {
        Input { schema, unique_key, changes: vec![] }
    }

    /// The net changes; nothing is left.
    fn fold(&mut self) -> Result<Option<ChangelogBatch>> {
        let bundle = std::mem::take(&mut self.changes);
        if bundle.is_empty() {
            return Ok(None);
        }
        let changes = ChangelogBatch::concat(&self.schema, &bundle)?;
        if changes.kinds().is_none() {
            return Ok(Some(changes));
        }
        let folded = match &self.unique_key {
            Some(key) => self.fold_by_key(&changes, key)?,
            None => self.fold_by_content(&changes)?,
        };
        Ok(Some(folded).filter(|folded| folded.num_rows() > 0))
    }

    fn slots(&self, changes: &ChangelogBatch, key: &[usize]) -> Result<(Vec<u32>, usize)> {
        let columns: Vec<_> = key.iter().map(|column| Arc::clone(changes.batch().column(*column))).collect();
        let types: Vec<_> = columns.iter().map(|column| column.data_type().clone()).collect();
        let mut interner = KeyInterner::try_new(&types)?;
        let mut slots = vec![];
        interner.intern(&columns, changes.num_rows(), &mut slots)?;
        Ok((slots, interner.slots()))
    }

    /// Of each key the row that is gone since the bundle began, and the one that is there at its end.
    fn fold_by_key(&self, changes: &ChangelogBatch, key: &[usize]) -> Result<ChangelogBatch> {
        let (slots, count) = self.slots(changes, key)?;
        let mut old: Vec<Option<u32>> = vec![None; count];
        let mut new: Vec<Option<u32>> = vec![None; count];
        for (row, slot) in slots.iter().enumerate() {
            let (old, new) = (&mut old[*slot as usize], &mut new[*slot as usize]);
            match changes.kind(row).is_retraction() {
                false => *new = Some(row as u32),
                true => {
                    if new.take().is_none() {
                        old.get_or_insert(row as u32);
                    }
                }
            }
        }
        let mut rows: Vec<(u32, RowKind)> = vec![];
        for (old, new) in old.into_iter().zip(new) {
            let (gone, come) = match (old, new) {
                (Some(_), Some(_)) => (RowKind::UpdateBefore, RowKind::UpdateAfter),
                _ => (RowKind::Delete, RowKind::Insert),
            };
            rows.extend(old.map(|row| (row, gone)));
            rows.extend(new.map(|row| (row, come)));
        }
        rows.sort_unstable_by_key(|(row, _)| *row);
        let (rows, kinds): (Vec<u32>, Vec<RowKind>) = rows.into_iter().unzip();
        ChangelogBatch::try_new(changes.take(&rows)?.into_parts().0, kinds.into())
    }

    /// Without the rows that come and go within the bundle.
    fn fold_by_content(&self, changes: &ChangelogBatch) -> Result<ChangelogBatch> {
        let all: Vec<usize> = (0..changes.batch().num_columns()).collect();
        let (slots, count) = self.slots(changes, &all)?;
        let mut come: Vec<Vec<u32>> = vec![vec![]; count];
        let mut kept = vec![true; slots.len()];
        for (row, slot) in slots.iter().enumerate() {
            let come = &mut come[*slot as usize];
            if !changes.kind(row).is_retraction() {
                come.push(row as u32);
            } else if let Some(taken_back) = come.pop() {
                kept[row] = false;
                kept[taken_back as usize] = false;
            }
        }
        let rows: Vec<u32> = (0..slots.len() as u32).filter(|row| kept[*row as usize]).collect();
        changes.take(&rows)
    }
}

impl BundledJoin {
    pub(super) fn new(
        join: RegularJoin,
        join_type: JoinType,
        bundling: Bundling,
        inputs: [Input; 2],
    ) -> Bundled<Self> {
        let order = match join_type {
            JoinType::Left => [RIGHT, LEFT],
            _ => [LEFT, RIGHT],
        };
        Bundled::new(BundledJoin { join, inputs, order }, bundling)
    }
}

impl TakesBundles for BundledJoin {
    fn push(&mut self, port: usize, rows: ChangelogBatch) {
        self.inputs[port].changes.push(rows);
    }

    /// Joins the net changes.
    fn finish(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        for port in self.order {
            if let Some(changes) = self.inputs[port].fold()? {
                self.join.process(port, &changes, cx, out)?;
            }
        }
        Ok(())
    }

    fn inner(&self) -> &dyn Operator {
        &self.join
    }

    fn inner_mut(&mut self) -> &mut dyn Operator {
        &mut self.join
    }
}
