//! Deduplication that decides by the keys alone, and puts the rows out that come in.

use datafusion_common::Result;

use super::DeduplicateNode;
use super::key_times::KeyTimes;
use crate::changelog::{ChangelogBatch, RowKind};
use crate::runtime::{Context, Operator, Output};
use crate::state::StateTable;
use crate::time::millis_of;

/// By processing time the first row of each key; or by rowtime the last, where no `-U` is asked for: of the
/// row that another replaces its time is all that must be known.
pub(super) struct KeptByKey {
    /// The rowtime; `None`: the first row is kept.
    time: Option<usize>,
    keys: KeyTimes,
}

/// What is set for a key that has had its first row.
const SEEN: i64 = 0;

impl KeptByKey {
    pub(super) fn first(node: DeduplicateNode) -> Result<Self> {
        Ok(KeptByKey { time: None, keys: KeyTimes::try_new("seen_keys", node)? })
    }

    pub(super) fn last(node: DeduplicateNode) -> Result<Self> {
        Ok(KeptByKey { time: Some(node.time), keys: KeyTimes::try_new("last_times", node)? })
    }
}

impl Operator for KeptByKey {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let batch = changes.batch();
        let times = self.time.map(|time| millis_of(batch.column(time))).transpose()?;
        let mut rows = Vec::with_capacity(batch.num_rows());
        let mut kinds = Vec::with_capacity(batch.num_rows());
        for (row, slot) in self.keys.intern(batch)?.into_iter().enumerate() {
            let time = times.as_ref().map(|times| times[row]);
            let kind = match (self.keys.get(slot, cx.processing_time), time) {
                (None, _) => RowKind::Insert,
                (Some(last), Some(time)) if time >= last => RowKind::UpdateAfter,
                (Some(_), _) => continue,
            };
            self.keys.set(slot, time.unwrap_or(SEEN), cx.processing_time);
            rows.push(row as u32);
            kinds.push(kind);
        }
        if rows.is_empty() {
            return Ok(());
        }
        let kept = match rows.len() == batch.num_rows() {
            true => batch.clone(),
            false => changes.take(&rows)?.into_parts().0,
        };
        out.data(match times {
            Some(_) => ChangelogBatch::try_new(kept, kinds.into())?,
            None => ChangelogBatch::insert_only(kept),
        });
        Ok(())
    }

    fn next_timer(&self) -> Option<i64> {
        self.keys.next_sweep()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, _out: &mut Output) -> Result<()> {
        self.keys.sweep(cx.processing_time);
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.keys]
    }
}
