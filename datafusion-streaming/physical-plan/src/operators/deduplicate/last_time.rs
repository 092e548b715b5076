//! Keep the last row of each key by rowtime, where no `-U` is asked for: of the last row only its time is
//! kept, and the rows that go out are the input's.

use datafusion_common::Result;

use super::DeduplicateNode;
use super::key_times::KeyTimes;
use crate::changelog::{ChangelogBatch, RowKind};
use crate::runtime::{Context, Operator, Output};
use crate::state::StateTable;
use crate::time::millis_of;

pub(super) struct LastByTime {
    time: usize,
    last: KeyTimes,
}

impl LastByTime {
    pub(super) fn try_new(node: DeduplicateNode) -> Result<Self> {
        Ok(LastByTime { time: node.time, last: KeyTimes::try_new("last_times", node)? })
    }
}

impl Operator for LastByTime {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let batch = changes.batch();
        let times = millis_of(batch.column(self.time))?;
        let mut rows = Vec::with_capacity(batch.num_rows());
        let mut kinds = Vec::with_capacity(batch.num_rows());
        for (row, slot) in self.last.intern(batch)?.into_iter().enumerate() {
            let kind = match self.last.get(slot, cx.processing_time) {
                Some(last) if times[row] < last => continue,
                Some(_) => RowKind::UpdateAfter,
                None => RowKind::Insert,
            };
            self.last.set(slot, times[row], cx.processing_time);
            rows.push(row as u32);
            kinds.push(kind);
        }
        if rows.is_empty() {
            return Ok(());
        }
        let batch = match rows.len() == batch.num_rows() {
            true => batch.clone(),
            false => changes.take(&rows)?.batch().clone(),
        };
        out.data(ChangelogBatch::try_new(batch, kinds.into())?);
        Ok(())
    }

    fn next_timer(&self) -> Option<i64> {
        self.last.next_sweep()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, _out: &mut Output) -> Result<()> {
        self.last.sweep(cx.processing_time);
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.last]
    }
}
