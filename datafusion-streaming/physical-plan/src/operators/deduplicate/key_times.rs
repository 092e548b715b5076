//! Keys without their rows, for what needs to know only when the row of a key was.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion_common::Result;

use super::DeduplicateNode;
use crate::runtime::TableSnapshot;
use crate::state::{Evictable, Expiry, KeyInterner, StateTable, keyed_snapshot, split_extra};

/// No row of the key yet.
const NONE: i64 = i64::MIN;

/// The time of the row of each key: columns indexed by slot.
pub(super) struct KeyTimes {
    name: &'static str,
    node: DeduplicateNode,
    keys: KeyInterner,
    times: Vec<i64>,
    expiry: Expiry,
}

impl KeyTimes {
    pub(super) fn try_new(name: &'static str, node: DeduplicateNode) -> Result<Self> {
        Ok(KeyTimes { name, keys: node.interner()?, times: vec![], expiry: Expiry::new(node.ttl), node })
    }

    /// The slots of the keys of a batch, with room for each.
    pub(super) fn intern(&mut self, batch: &RecordBatch) -> Result<Vec<u32>> {
        let mut slots = vec![];
        self.keys.intern(&self.node.key_columns(batch.columns()), batch.num_rows(), &mut slots)?;
        self.grow();
        Ok(slots)
    }

    fn grow(&mut self) {
        self.times.resize(self.keys.slots(), NONE);
        self.expiry.grow(self.keys.slots());
    }

    /// The time of the row of a key, unless it has none or what is known of it has expired.
    #[inline]
    pub(super) fn get(&self, slot: u32, processing_time: i64) -> Option<i64> {
        let time = self.times[slot as usize];
        (time != NONE && !self.expiry.is_expired(slot, processing_time)).then_some(time)
    }

    /// Sets the time of the row of a key.
    #[inline]
    pub(super) fn set(&mut self, slot: u32, time: i64, processing_time: i64) {
        self.times[slot as usize] = time.max(NONE + 1);
        self.expiry.touch(slot, processing_time);
    }

    pub(super) fn next_sweep(&self) -> Option<i64> {
        self.expiry.next_sweep()
    }

    /// Forgets what has expired.
    pub(super) fn sweep(&mut self, processing_time: i64) {
        let expired = self.expiry.sweep(processing_time);
        for slot in &expired {
            self.times[*slot as usize] = NONE;
        }
        self.keys.release(&expired);
    }

    fn schema(&self) -> SchemaRef {
        let fields = self.node.schema.fields();
        Arc::new(Schema::new(self.node.keys.iter().map(|key| Arc::clone(&fields[*key])).collect::<Vec<_>>()))
    }
}

impl StateTable for KeyTimes {
    fn name(&self) -> &str {
        self.name
    }

    fn memory_size(&self) -> usize {
        self.keys.memory_size() + self.times.capacity() * size_of::<i64>() + self.expiry.memory_size()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let slots: Vec<u32> =
            (0..self.times.len() as u32).filter(|slot| self.times[*slot as usize] != NONE).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(slots.len()));
        let columns = self.keys.columns(&slots)?;
        let keys = RecordBatch::try_new_with_options(self.schema(), columns, &options)?;
        let times = slots.iter().map(|slot| self.times[*slot as usize]).collect();
        let written = slots.iter().map(|slot| self.expiry.written(*slot)).collect();
        let key_columns: Vec<usize> = (0..self.node.keys.len()).collect();
        keyed_snapshot(self.name(), &key_columns, &keys, vec![("$time", times), ("$written", written)])
    }

    fn restore(&mut self, saved: &RecordBatch) -> Result<()> {
        let (keys, extra) = split_extra(saved, &self.schema(), 2)?;
        let mut slots = vec![];
        self.keys.intern(keys.columns(), keys.num_rows(), &mut slots)?;
        self.grow();
        for (row, slot) in slots.into_iter().enumerate() {
            self.set(slot, extra[0][row], extra[1][row]);
        }
        Ok(())
    }

    fn evictable(&self) -> Option<Evictable> {
        Some(Evictable { keys: (0..self.node.keys.len()).collect(), ttl: self.node.ttl })
    }
}
