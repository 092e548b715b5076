//! Rows to the versions of their time.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::take;
use datafusion_common::Result;

use super::TemporalJoinNode;
use super::versions::Versions;
use super::waiting::{Released, Waiting};
use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::join::emission::decode;
use crate::operators::join::side::{JoinKeys, NONE};
use crate::operators::join::{LEFT, OutputColumn};
use crate::runtime::{Context, Operator, Output};
use crate::state::{StateTable, distinct_where};
use crate::time::Watermark;

pub(super) struct TemporalJoin {
    node: TemporalJoinNode,
    columns: Vec<OutputColumn>,
    keys: JoinKeys,
    waiting: Waiting,
    versions: Versions,
}

impl TemporalJoin {
    pub(super) fn new(node: TemporalJoinNode, keys: JoinKeys, waiting: Waiting, versions: Versions) -> Self {
        TemporalJoin { columns: node.columns(), node, keys, waiting, versions }
    }

    fn link_restored(&mut self) -> Result<()> {
        self.waiting.link_restored(&mut self.keys)?;
        self.versions.link_restored(&mut self.keys)
    }

    /// The output for rows whose versions are known.
    fn join(&self, released: &Released) -> Result<ChangelogBatch> {
        let rows = released.slots.len();
        let at = |(slot, time): (&u32, &i64)| self.versions.at(*slot, *time);
        let mut ids: Vec<u32> = released.slots.iter().zip(&released.times).map(at).collect();
        let mut right = decode(&ids, |ids| self.versions.rows.columns(ids))?;
        if let Some(residual) = &self.node.residual {
            let mask = residual.evaluate(rows, |port, place| {
                Ok(Arc::clone(if port == LEFT { &released.columns[place] } else { &right[place] }))
            })?;
            for (row, id) in ids.iter_mut().enumerate() {
                if !(mask.is_valid(row) && mask.value(row)) {
                    *id = NONE;
                }
            }
            right = decode(&ids, |ids| self.versions.rows.columns(ids))?;
        }
        let column = |column: &OutputColumn| match column {
            OutputColumn::Input(LEFT, place) => Arc::clone(&released.columns[*place]),
            OutputColumn::Input(_, place) => Arc::clone(&right[*place]),
            OutputColumn::Mark => Arc::clone(&released.columns[0]),
        };
        let mut columns: Vec<ArrayRef> = self.columns.iter().map(column).collect();
        let mut kinds: Vec<RowKind> = released.kinds.clone();
        if !self.node.outer && ids.contains(&NONE) {
            let matched: Vec<u32> = (0..rows as u32).filter(|row| ids[*row as usize] != NONE).collect();
            kinds = matched.iter().map(|row| released.kinds[*row as usize]).collect();
            let matched = UInt32Array::from(matched);
            columns =
                columns.iter().map(|column| Ok(take(column, &matched, None)?)).collect::<Result<_>>()?;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(kinds.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.node.schema), columns, &options)?;
        ChangelogBatch::try_new(batch, kinds.into())
    }
}

impl Operator for TemporalJoin {
    fn process(
        &mut self,
        port: usize,
        changes: &ChangelogBatch,
        _cx: &mut Context<'_>,
        _out: &mut Output,
    ) -> Result<()> {
        self.link_restored()?;
        match port {
            LEFT => self.waiting.add(changes, &mut self.keys),
            _ => self.versions.add(changes, self.node.retracting, &mut self.keys),
        }
    }

    fn on_watermark(&mut self, watermark: Watermark, _cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        self.link_restored()?;
        let released = self.waiting.release(watermark.0)?;
        if let Some(released) = &released {
            out.data(self.join(released)?);
        }
        let mut touched = self.versions.prune(watermark.0);
        touched.extend(released.iter().flat_map(|released| &released.slots));
        let has_rows = |slot| self.waiting.has_rows(slot) || self.versions.has_rows(slot);
        self.keys.release(&distinct_where(touched, |slot| !has_rows(slot)));
        out.watermark(watermark);
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.keys, &mut self.waiting, &mut self.versions]
    }
}
