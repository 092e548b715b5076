//! Keep the last row of each key, to tell of the row that another replaces.

use arrow::array::RecordBatch;
use datafusion_common::Result;

use super::DeduplicateNode;
use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::row_changes::RowChanges;
use crate::runtime::{Context, Operator, Output, TableSnapshot};
use crate::state::{
    Evictable, Expiry, KeyInterner, RowId, RowStore, StateTable, keyed_snapshot, split_extra,
};
use crate::time::millis_of;

const NONE: RowId = RowId::MAX;

pub(super) struct KeepLast {
    node: DeduplicateNode,
    /// The columns that tell two rows apart: processing times do not.
    compared: Vec<usize>,
    rows: LastRows,
}

/// The last row of each key: columns indexed by slot.
struct LastRows {
    node: DeduplicateNode,
    keys: KeyInterner,
    store: RowStore,
    rows: Vec<RowId>,
    /// The rowtime of each row.
    times: Vec<i64>,
    expiry: Expiry,
}

impl KeepLast {
    pub(super) fn try_new(node: DeduplicateNode) -> Result<Self> {
        let compared = (0..node.schema.fields().len()).filter(|column| *column != node.time).collect();
        let rows = LastRows {
            keys: node.interner()?,
            store: RowStore::new(node.schema.clone()),
            rows: vec![],
            times: vec![],
            expiry: Expiry::new(node.ttl),
            node: node.clone(),
        };
        Ok(KeepLast { node, compared, rows })
    }
}

impl LastRows {
    fn intern(&mut self, batch: &RecordBatch) -> Result<Vec<u32>> {
        let mut slots = vec![];
        self.keys.intern(&self.node.key_columns(batch.columns()), batch.num_rows(), &mut slots)?;
        let room = self.keys.slots();
        self.rows.resize(room, NONE);
        self.times.resize(room, i64::MIN);
        self.expiry.grow(room);
        Ok(slots)
    }

    fn forget(&mut self, slot: u32) {
        let row = std::mem::replace(&mut self.rows[slot as usize], NONE);
        if row != NONE {
            self.store.remove(row);
        }
        self.expiry.forget(slot);
    }

    fn live_slots(&self) -> Vec<u32> {
        (0..self.rows.len() as u32).filter(|slot| self.rows[*slot as usize] != NONE).collect()
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
        let state = &mut self.rows;
        let slots = state.intern(batch)?;
        let is_rowtime = self.node.is_rowtime();
        let times = millis_of(batch.column(self.node.time))?;
        let mut emitted = RowChanges::default();
        state.store.open(batch);
        for (row, slot) in slots.into_iter().enumerate() {
            if state.expiry.is_expired(slot, cx.processing_time) {
                state.forget(slot);
            }
            let last = state.rows[slot as usize];
            if last == NONE {
                emitted.push(RowKind::Insert, state.store.place_in_batch(row));
            } else {
                if is_rowtime && times[row] < state.times[slot as usize] {
                    continue;
                }
                let places = (state.store.place(last), state.store.place_in_batch(row));
                emitted.push_update(places.0, places.1, self.node.update_before);
                state.store.remove(last);
            }
            state.rows[slot as usize] = state.store.add(row);
            state.times[slot as usize] = times[row];
            state.expiry.touch(slot, cx.processing_time);
        }
        // by processing time a row that equals the last is kept in its stead, and nothing is told of it
        if !is_rowtime && !state.expiry.is_on() {
            emitted = emitted.without_repetitions(&state.store, &self.compared);
        }
        if let Some(changes) = emitted.finish(&state.store, &self.node.schema)? {
            out.data(changes);
        }
        state.store.close()
    }

    fn next_timer(&self) -> Option<i64> {
        self.rows.expiry.next_sweep()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, _out: &mut Output) -> Result<()> {
        let expired = self.rows.expiry.sweep(cx.processing_time);
        for slot in &expired {
            self.rows.forget(*slot);
        }
        self.rows.keys.release(&expired);
        self.rows.store.close()
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.rows]
    }
}

impl StateTable for LastRows {
    fn name(&self) -> &str {
        "last_rows"
    }

    fn memory_size(&self) -> usize {
        self.keys.memory_size()
            + self.store.memory_size()
            + self.rows.capacity() * size_of::<RowId>()
            + self.times.capacity() * size_of::<i64>()
            + self.expiry.memory_size()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let live = self.live_slots();
        let ids: Vec<RowId> = live.iter().map(|slot| self.rows[*slot as usize]).collect();
        let times = live.iter().map(|slot| self.times[*slot as usize]).collect();
        let written = live.iter().map(|slot| self.expiry.written(*slot)).collect();
        let extra = vec![("$time", times), ("$written", written)];
        keyed_snapshot(self.name(), &self.node.keys, &self.store.rows(&ids)?, extra)
    }

    fn restore(&mut self, saved: &RecordBatch) -> Result<()> {
        let (batch, extra) = split_extra(saved, &self.node.schema, 2)?;
        let slots = self.intern(&batch)?;
        self.store.open(&batch);
        for (row, slot) in slots.into_iter().enumerate() {
            self.rows[slot as usize] = self.store.add(row);
            self.times[slot as usize] = extra[0][row];
            self.expiry.touch(slot, extra[1][row]);
        }
        self.store.close()
    }

    fn evictable(&self) -> Option<Evictable> {
        Some(Evictable { keys: self.node.keys.clone(), ttl: self.node.ttl })
    }
}
