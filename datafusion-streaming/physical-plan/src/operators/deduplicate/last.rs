//! Keep the last row of each key, to tell of the row that another replaces.

use arrow::array::RecordBatch;
use datafusion_common::Result;

use super::DeduplicateNode;
use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::row_changes::RowChanges;
use crate::runtime::{Context, Operator, Output, TableSnapshot};
use crate::state::{Evictable, Expiry, LastRows, StateTable, keyed_snapshot, split_extra};
use crate::time::millis_of;

pub(super) struct KeepLast {
    node: DeduplicateNode,
    /// The columns that tell two rows apart: processing times do not.
    compared: Vec<usize>,
    state: TimedRows,
}

/// The last row of each key, and columns indexed by its slot.
struct TimedRows {
    node: DeduplicateNode,
    last: LastRows,
    /// The rowtime of each row.
    times: Vec<i64>,
    expiry: Expiry,
}

impl KeepLast {
    pub(super) fn try_new(node: DeduplicateNode) -> Result<Self> {
        let compared = (0..node.schema.fields().len()).filter(|column| *column != node.time).collect();
        let state = TimedRows {
            last: LastRows::try_new(node.schema.clone(), node.keys.clone())?,
            times: vec![],
            expiry: Expiry::new(node.ttl),
            node: node.clone(),
        };
        Ok(KeepLast { node, compared, state })
    }
}

impl TimedRows {
    fn intern(&mut self, batch: &RecordBatch) -> Result<Vec<u32>> {
        let slots = self.last.intern(batch)?;
        self.times.resize(self.last.slots(), i64::MIN);
        self.expiry.grow(self.last.slots());
        Ok(slots)
    }

    fn set(&mut self, slot: u32, row: usize, time: i64, written: i64) {
        self.last.set(slot, row);
        self.times[slot as usize] = time;
        self.expiry.touch(slot, written);
    }
}

impl Operator for KeepLast {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let batch = changes.batch();
        let state = &mut self.state;
        let slots = state.intern(batch)?;
        let is_rowtime = self.node.is_rowtime();
        // by processing time a row that equals the last is kept in its stead, and nothing is told of it
        let compares = !is_rowtime && !state.expiry.is_on();
        let update_before = self.node.update_before;
        let times = millis_of(batch.column(self.node.time))?;
        let mut emitted = RowChanges::default();
        state.last.store.open(batch);
        for (row, slot) in slots.into_iter().enumerate() {
            if state.expiry.is_expired(slot, cx.processing_time) {
                state.last.clear(slot);
            }
            let place = state.last.store.place_in_batch(row);
            match state.last.place(slot) {
                None => emitted.push(RowKind::Insert, place),
                Some(_) if is_rowtime && times[row] < state.times[slot as usize] => continue,
                Some(last) if compares => emitted.push_update_unless_equal(last, place, update_before),
                Some(last) => emitted.push_update(last, place, update_before),
            }
            state.set(slot, row, times[row], cx.processing_time);
        }
        let emitted = emitted.without_repetitions(&state.last.store, &self.compared);
        if let Some(changes) = emitted.finish(&state.last.store, &self.node.schema)? {
            out.data(changes);
        }
        state.last.forget([])
    }

    fn next_timer(&self) -> Option<i64> {
        self.state.expiry.next_sweep()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, _out: &mut Output) -> Result<()> {
        let TimedRows { last, expiry, .. } = &mut self.state;
        let expired = expiry.sweep(cx.processing_time);
        for slot in &expired {
            last.clear(*slot);
            expiry.forget(*slot);
        }
        last.forget(expired)
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.state]
    }
}

impl StateTable for TimedRows {
    fn name(&self) -> &str {
        "last_rows"
    }

    fn memory_size(&self) -> usize {
        self.last.memory_size() + self.times.capacity() * size_of::<i64>() + self.expiry.memory_size()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let live = self.last.live_slots();
        let times = live.iter().map(|slot| self.times[*slot as usize]).collect();
        let written = live.iter().map(|slot| self.expiry.written(*slot)).collect();
        let extra = vec![("$time", times), ("$written", written)];
        keyed_snapshot(self.name(), &self.node.keys, &self.last.rows(&live)?, extra)
    }

    fn restore(&mut self, saved: &RecordBatch) -> Result<()> {
        let (batch, extra) = split_extra(saved, &self.node.schema, 2)?;
        let slots = self.intern(&batch)?;
        self.last.store.open(&batch);
        for (row, slot) in slots.into_iter().enumerate() {
            self.set(slot, row, extra[0][row], extra[1][row]);
        }
        self.last.forget([])
    }

    fn evictable(&self) -> Option<Evictable> {
        Some(Evictable { keys: self.node.keys.clone(), ttl: self.node.ttl })
    }
}
