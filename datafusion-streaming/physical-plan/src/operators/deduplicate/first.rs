//! Keep the first row of each key by rowtime.

use std::sync::Arc;

use arrow::array::{Array, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use datafusion_common::{Result, exec_err};

use super::DeduplicateNode;
use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::row_changes::RowChanges;
use crate::runtime::{Context, Operator, Output, TableSnapshot};
use crate::state::{
    Due, Evictable, Expiry, KeyInterner, RowId, RowStore, StateTable, TimeQueue, keyed_snapshot, split_extra,
};
use crate::time::{Watermark, millis_of};

/// No candidate yet.
const NONE: i64 = i64::MAX;

/// The row of the key has gone out.
const EMITTED: i64 = i64::MIN;

/// By rowtime: the earliest row of a key waits until the watermark passes it.
pub(super) struct RowtimeFirst {
    node: DeduplicateNode,
    candidates: Candidates,
}

/// What is known of each key: columns indexed by slot.
struct Candidates {
    node: DeduplicateNode,
    keys: KeyInterner,
    /// The time of the candidate, [`NONE`] or [`EMITTED`].
    times: Vec<i64>,
    /// The candidate, where there is one.
    rows: Vec<RowId>,
    store: RowStore,
    /// The slots of candidates by time; some of an earlier candidate.
    waiting: TimeQueue<u32>,
    expiry: Expiry,
}

impl RowtimeFirst {
    pub(super) fn try_new(node: DeduplicateNode) -> Result<Self> {
        let candidates = Candidates {
            keys: node.interner()?,
            times: vec![],
            rows: vec![],
            store: RowStore::new(node.schema.clone()),
            waiting: TimeQueue::new(),
            expiry: Expiry::new(node.ttl),
            node: node.clone(),
        };
        Ok(RowtimeFirst { node, candidates })
    }
}

impl Candidates {
    fn intern(&mut self, batch: &RecordBatch) -> Result<Vec<u32>> {
        let mut slots = vec![];
        self.keys.intern(&self.node.key_columns(batch.columns()), batch.num_rows(), &mut slots)?;
        let room = self.keys.slots();
        self.times.resize(room, NONE);
        self.rows.resize(room, RowId::MAX);
        self.expiry.grow(room);
        Ok(slots)
    }

    fn forget(&mut self, slot: u32) {
        let time = std::mem::replace(&mut self.times[slot as usize], NONE);
        if time != NONE && time != EMITTED {
            self.store.remove(self.rows[slot as usize]);
        }
        self.expiry.forget(slot);
    }
}

impl Operator for RowtimeFirst {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        _out: &mut Output,
    ) -> Result<()> {
        let batch = changes.batch();
        let column = batch.column(self.node.time);
        if column.null_count() > 0 {
            return exec_err!(
                "the rowtime {} is NULL in a row of a deduplication; filter such rows out before",
                self.node.schema.field(self.node.time).name()
            );
        }
        let times = millis_of(column)?;
        let state = &mut self.candidates;
        let slots = state.intern(batch)?;
        let pending = slots.iter().any(|slot| state.times[*slot as usize] != EMITTED);
        if !pending && !state.expiry.is_on() {
            return Ok(());
        }
        let mut late = 0;
        state.store.open(batch);
        for (row, slot) in slots.into_iter().enumerate() {
            if state.expiry.is_expired(slot, cx.processing_time) {
                state.forget(slot);
            }
            let (time, known) = (times[row], state.times[slot as usize]);
            if known == EMITTED {
                continue;
            }
            if time < cx.watermark.0 {
                late += 1;
                continue;
            }
            if time < known || known == NONE {
                if known != NONE {
                    state.store.remove(state.rows[slot as usize]);
                }
                state.rows[slot as usize] = state.store.add(row);
                state.times[slot as usize] = time;
                state.waiting.push(time, slot);
                state.expiry.touch(slot, cx.processing_time);
            }
        }
        cx.metrics.late_rows.add(late);
        state.store.close()
    }

    fn on_watermark(&mut self, watermark: Watermark, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        let state = &mut self.candidates;
        let mut emitted = RowChanges::default();
        for (time, slot) in state.waiting.pop_until(watermark.0) {
            if state.times[slot as usize] == time && time != EMITTED && time != NONE {
                let row = state.rows[slot as usize];
                emitted.push(RowKind::Insert, state.store.place(row));
                state.store.remove(row);
                state.times[slot as usize] = EMITTED;
                state.expiry.touch(slot, cx.processing_time);
            }
        }
        if let Some(changes) = emitted.finish(&state.store, &self.node.schema)? {
            out.data(changes);
            state.store.close()?;
        }
        out.watermark(watermark);
        Ok(())
    }

    fn next_timer(&self) -> Option<i64> {
        self.candidates.expiry.next_sweep()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, _out: &mut Output) -> Result<()> {
        let expired = self.candidates.expiry.sweep(cx.processing_time);
        for slot in &expired {
            self.candidates.forget(*slot);
        }
        self.candidates.keys.release(&expired);
        self.candidates.store.close()
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.candidates]
    }
}

impl StateTable for Candidates {
    fn name(&self) -> &str {
        "first_rows"
    }

    fn memory_size(&self) -> usize {
        self.keys.memory_size()
            + self.times.capacity() * size_of::<i64>()
            + self.rows.capacity() * size_of::<RowId>()
            + self.store.memory_size()
            + self.waiting.memory_size()
            + self.expiry.memory_size()
    }

    /// Of a key whose row has gone out, a row with the key and NULLs stands for it.
    fn snapshot(&self) -> Result<TableSnapshot> {
        let slots: Vec<u32> =
            (0..self.times.len() as u32).filter(|slot| self.times[*slot as usize] != NONE).collect();
        let (emitted, waiting): (Vec<u32>, Vec<u32>) =
            slots.iter().partition(|slot| self.times[**slot as usize] == EMITTED);
        let ids: Vec<RowId> = waiting.iter().map(|slot| self.rows[*slot as usize]).collect();
        let rows = self.store.rows(&ids)?;
        let keys = self.keys.columns(&emitted)?;
        let nullable: Vec<_> = self
            .node
            .schema
            .fields()
            .iter()
            .map(|field| Arc::new(field.as_ref().clone().with_nullable(true)))
            .collect();
        let mut columns = vec![];
        for (column, field) in nullable.iter().enumerate() {
            let of_emitted = match self.node.keys.iter().position(|key| *key == column) {
                Some(place) => Arc::clone(&keys[place]),
                None => arrow::array::new_null_array(field.data_type(), emitted.len()),
            };
            columns.push(arrow::compute::concat(&[rows.column(column), &of_emitted])?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(slots.len()));
        let rows = RecordBatch::try_new_with_options(Arc::new(Schema::new(nullable)), columns, &options)?;
        let in_order = || waiting.iter().chain(&emitted);
        let times = in_order().map(|slot| self.times[*slot as usize]).collect();
        let written = in_order().map(|slot| self.expiry.written(*slot)).collect();
        let extra = vec![("$time", times), ("$written", written)];
        keyed_snapshot(self.name(), &self.node.keys, &rows, extra)
    }

    fn restore(&mut self, saved: &RecordBatch) -> Result<()> {
        let first_extra = self.node.schema.fields().len();
        let times = millis_column(saved, first_extra);
        let slots = {
            let mut slots = vec![];
            let keys = self.node.key_columns(saved.columns());
            self.keys.intern(&keys, saved.num_rows(), &mut slots)?;
            slots
        };
        let room = self.keys.slots();
        self.times.resize(room, NONE);
        self.rows.resize(room, RowId::MAX);
        self.expiry.grow(room);
        let is_waiting: BooleanArray = times.iter().map(|time| Some(*time != EMITTED)).collect();
        let waiting = arrow::compute::filter_record_batch(saved, &is_waiting)?;
        let (batch, _) = split_extra(&waiting, &self.node.schema, 2)?;
        let written = millis_column(saved, first_extra + 1);
        self.store.open(&batch);
        let mut row = 0;
        for (number, slot) in slots.into_iter().enumerate() {
            self.times[slot as usize] = times[number];
            self.expiry.touch(slot, written[number]);
            if times[number] != EMITTED {
                self.rows[slot as usize] = self.store.add(row);
                self.waiting.push(times[number], slot);
                row += 1;
            }
        }
        self.store.close()
    }

    fn evictable(&self) -> Option<Evictable> {
        Some(Evictable { keys: self.node.keys.clone(), ttl: self.node.ttl })
    }

    fn due(&self, rows: &RecordBatch, _watermark: i64) -> Result<Due> {
        let times = millis_column(rows, self.node.schema.fields().len()).into_iter();
        Ok(Due::at_watermarks(times.map(|time| if time == EMITTED { i64::MAX } else { time }).collect()))
    }
}

fn millis_column(batch: &RecordBatch, column: usize) -> Vec<i64> {
    use arrow::array::AsArray;
    batch.column(column).as_primitive::<arrow::datatypes::Int64Type>().values().to_vec()
}
