//! The rows of each partition in order, cut into blocks, and their snapshot.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat;
use arrow::datatypes::DataType;
use datafusion_common::Result;

use super::ValueOverNode;
use crate::operators::aggregate::{AggregateCall, Aggregates};
use crate::operators::over::OverCall;
use crate::runtime::TableSnapshot;
use crate::state::{
    Evictable, Expiry, KeyInterner, RowId, RowStore, SortKey, SortKeys, StateTable, distinct_where,
    keyed_snapshot, split_extra,
};

/// Blocks up to so many rows: a change computes the results of one anew.
const BLOCK_ROWS: usize = 128;

/// Partitions whose aggregates keep many values have no more than about so many blocks, each of which has the values
/// of all rows in front of it.
const LARGE_BLOCKS: usize = 16;

/// The slot of the aggregates that rows are folded into.
pub(super) const SCRATCH: u32 = 0;

/// The slot of the aggregates of no rows.
const NOTHING: u32 = 1;

pub(super) struct Partitions<K> {
    pub node: ValueOverNode,
    pub keys: KeyInterner,
    pub sort_keys: SortKeys,
    pub store: RowStore,
    pub partitions: Vec<Partition<K>>,
    /// By partition.
    pub expiry: Expiry,
    pub aggregates: Aggregates,
    free_slots: Vec<u32>,
    slots: u32,
    has_large_state: bool,
    rows: usize,
    result_bytes: usize,
}

#[derive(Debug)]
pub(super) struct Partition<K> {
    /// Its rows. None is empty, and rows with peers share a block.
    pub blocks: Vec<Block<K>>,
    /// Whether the blocks have results. They have none after a restore.
    pub is_computed: bool,
}

#[derive(Debug)]
pub(super) struct Block<K> {
    pub rows: Vec<(K, RowId)>,
    /// The results of the calls for the rows.
    pub results: Vec<ArrayRef>,
    /// How many different sort keys there are.
    pub groups: usize,
    /// The slot of the aggregates of all rows in front of the block.
    pub prefix: u32,
}

impl<K> Block<K> {
    fn new(prefix: u32) -> Self {
        Block { rows: vec![], results: vec![], groups: 0, prefix }
    }

    fn result_bytes(&self) -> usize {
        self.results.iter().map(|array| array.get_array_memory_size()).sum()
    }
}

impl<K: SortKey> Partitions<K> {
    pub(super) fn try_new(node: ValueOverNode, types: &[DataType]) -> Result<Self> {
        let aggregate = |call: &OverCall| match call {
            OverCall::Aggregate(call) => Some(call.clone()),
            _ => None,
        };
        let calls: Vec<AggregateCall> = node.calls.iter().filter_map(aggregate).collect();
        let mut aggregates = Aggregates::try_new(&calls, types, false)?;
        aggregates.grow(NOTHING as usize + 1);
        let key_types: Vec<DataType> = node.keys.iter().map(|key| types[*key].clone()).collect();
        Ok(Partitions {
            keys: KeyInterner::try_new(&key_types)?,
            sort_keys: SortKeys::try_new(vec![node.sort], types)?,
            store: RowStore::new(Arc::clone(&node.input)),
            partitions: vec![],
            expiry: Expiry::new(node.ttl),
            aggregates,
            free_slots: vec![],
            slots: NOTHING + 1,
            has_large_state: calls.iter().any(|call| call.distinct || !call.function.has_small_state()),
            rows: 0,
            result_bytes: 0,
            node,
        })
    }

    pub(super) fn intern(&mut self, batch: &RecordBatch) -> Result<Vec<u32>> {
        let keys: Vec<ArrayRef> = self.node.keys.iter().map(|key| Arc::clone(batch.column(*key))).collect();
        let mut slots = vec![];
        self.keys.intern(&keys, batch.num_rows(), &mut slots)?;
        self.partitions.resize_with(self.keys.slots(), || Partition { blocks: vec![], is_computed: true });
        self.expiry.grow(self.keys.slots());
        Ok(slots)
    }

    /// The most rows of a block of a partition.
    fn block_rows(&self, partition: usize) -> usize {
        if !self.has_large_state {
            return BLOCK_ROWS;
        }
        let rows: usize = self.partitions[partition].blocks.iter().map(|block| block.rows.len()).sum();
        BLOCK_ROWS.max(2 * rows / LARGE_BLOCKS)
    }

    /// The block that a sort key goes into, and its place there, behind equal ones. There is at least one block.
    pub(super) fn place_of(&mut self, partition: usize, key: &K) -> (usize, usize) {
        let blocks = &mut self.partitions[partition].blocks;
        if blocks.is_empty() {
            blocks.push(Block::new(NOTHING));
        }
        let behind = blocks.partition_point(|block| block.rows.first().is_none_or(|(first, _)| first <= key));
        let block = behind.saturating_sub(1);
        (block, blocks[block].rows.partition_point(|(other, _)| other <= key))
    }

    /// The block and the place of the first row that equals a row of the open batch in these columns.
    pub(super) fn find(
        &self,
        partition: usize,
        key: &K,
        row: usize,
        compared: &[usize],
    ) -> Option<(usize, usize)> {
        let blocks = &self.partitions[partition].blocks;
        let first = blocks.partition_point(|block| block.rows.last().is_none_or(|(last, _)| last < key));
        for (number, block) in blocks.iter().enumerate().skip(first) {
            let from = block.rows.partition_point(|(other, _)| other < key);
            for (place, (other, id)) in block.rows.iter().enumerate().skip(from) {
                if other != key {
                    return None;
                }
                if self.store.equals(*id, row, compared) {
                    return Some((number, place));
                }
            }
        }
        None
    }

    /// Adds a row of the open batch.
    pub(super) fn insert(&mut self, partition: usize, (block, place): (usize, usize), key: K, row: usize) {
        let id = self.store.add(row);
        self.partitions[partition].blocks[block].rows.insert(place, (key, id));
        self.rows += 1;
    }

    /// Takes a row out.
    pub(super) fn remove(&mut self, partition: usize, (block, place): (usize, usize)) {
        let (_, id) = self.partitions[partition].blocks[block].rows.remove(place);
        self.store.remove(id);
        self.rows -= 1;
    }

    pub(super) fn set_results(&mut self, partition: usize, block: usize, results: Vec<ArrayRef>) {
        let block = &mut self.partitions[partition].blocks[block];
        self.result_bytes -= block.result_bytes().min(self.result_bytes);
        block.results = results;
        self.result_bytes += block.result_bytes();
    }

    /// Cuts a block that is full into two, if its rows are not all peers; whether it does. The state in front of the
    /// second is not known.
    pub(super) fn split(&mut self, partition: usize, block: usize) -> bool {
        let whole = &self.partitions[partition].blocks[block];
        if whole.rows.len() < self.block_rows(partition) {
            return false;
        }
        let Some(cut) = cut(&whole.rows, whole.rows.len() / 2, self.node.has_peers) else { return false };
        let prefix = self.new_slot();
        let whole = &mut self.partitions[partition].blocks[block];
        let mut second = Block::new(prefix);
        second.rows = whole.rows.split_off(cut);
        second.results = whole.results.iter().map(|array| array.slice(cut, array.len() - cut)).collect();
        whole.results = whole.results.iter().map(|array| array.slice(0, cut)).collect();
        self.partitions[partition].blocks.insert(block + 1, second);
        true
    }

    /// Takes a block out that has become empty, or takes the one behind it in if both are small.
    pub(super) fn tidy(&mut self, partition: usize, block: usize) -> Result<()> {
        let limit = self.block_rows(partition) / 2;
        let blocks = &mut self.partitions[partition].blocks;
        let Some(next) = blocks.get(block + 1).map(|next| next.rows.len()) else {
            if blocks[block].rows.is_empty() {
                let gone = blocks.remove(block);
                self.result_bytes -= gone.result_bytes().min(self.result_bytes);
                self.free_slot(gone.prefix);
            }
            return Ok(());
        };
        let own = blocks[block].rows.len();
        if own > 0 && own + next > limit {
            return Ok(());
        }
        let next = blocks.remove(block + 1);
        let first = &mut blocks[block];
        first.rows.extend(next.rows);
        let together =
            first.results.iter().zip(&next.results).map(|(a, b)| concat(&[a.as_ref(), b.as_ref()]));
        first.results = together.collect::<std::result::Result<_, _>>()?;
        self.free_slot(next.prefix);
        Ok(())
    }

    /// Starts with the state in front of a block.
    pub(super) fn start_at(&mut self, partition: usize, block: usize) -> Result<()> {
        let prefix = self.partitions[partition].blocks[block].prefix;
        self.aggregates.clear(&[SCRATCH]);
        self.aggregates.merge_slots(&[SCRATCH], &[prefix])
    }

    /// The rows that have been folded are those in front of a block.
    pub(super) fn keep_prefix(&mut self, partition: usize, block: usize) -> Result<()> {
        let prefix = self.partitions[partition].blocks[block].prefix;
        self.aggregates.clear(&[prefix]);
        self.aggregates.merge_slots(&[prefix], &[SCRATCH])
    }

    /// Cuts a partition anew that comes from a snapshot. The blocks have neither states nor results.
    pub(super) fn cut_anew(&mut self, partition: usize) {
        let limit = self.block_rows(partition) / 2;
        let mut rest: Vec<(K, RowId)> = vec![];
        for block in std::mem::take(&mut self.partitions[partition].blocks) {
            rest.extend(block.rows);
            self.free_slot(block.prefix);
        }
        let mut blocks: Vec<Block<K>> = vec![];
        while !rest.is_empty() {
            let at = if rest.len() > limit { cut(&rest, limit, self.node.has_peers) } else { None };
            let behind = rest.split_off(at.unwrap_or(rest.len()));
            let prefix = if blocks.is_empty() { NOTHING } else { self.new_slot() };
            blocks.push(Block { rows: rest, ..Block::new(prefix) });
            rest = behind;
        }
        self.partitions[partition].blocks = blocks;
    }

    fn new_slot(&mut self) -> u32 {
        if let Some(slot) = self.free_slots.pop() {
            return slot;
        }
        self.slots += 1;
        self.aggregates.grow(self.slots as usize);
        self.slots - 1
    }

    fn free_slot(&mut self, slot: u32) {
        if slot != NOTHING {
            self.aggregates.clear(&[slot]);
            self.free_slots.push(slot);
        }
    }

    /// Drops the rows of a partition.
    pub(super) fn clear(&mut self, slot: u32) {
        let partition = &mut self.partitions[slot as usize];
        partition.is_computed = true;
        for block in std::mem::take(&mut partition.blocks) {
            self.result_bytes -= block.result_bytes().min(self.result_bytes);
            self.rows -= block.rows.len();
            block.rows.iter().for_each(|(_, row)| self.store.remove(*row));
            self.free_slot(block.prefix);
        }
    }

    /// Gives back the slots of those partitions that have no rows.
    pub(super) fn release(&mut self, slots: Vec<u32>) {
        let slots = distinct_where(slots, |slot| self.partitions[slot as usize].blocks.is_empty());
        for slot in &slots {
            self.expiry.forget(*slot);
        }
        self.keys.release(&slots);
    }
}

/// Where to cut rows in two, near `at`; between peers only where they need not stay together.
fn cut<K: SortKey>(rows: &[(K, RowId)], at: usize, has_peers: bool) -> Option<usize> {
    let is_between = |place: &usize| !has_peers || rows[place - 1].0 != rows[*place].0;
    let behind = (at.max(1)..rows.len()).find(is_between);
    let before = (1..at.min(rows.len())).rev().find(is_between);
    match (before, behind) {
        (Some(before), Some(behind)) => Some(if at - before < behind - at { before } else { behind }),
        (before, behind) => behind.or(before),
    }
}

impl<K: SortKey> StateTable for Partitions<K> {
    fn name(&self) -> &str {
        "rows"
    }

    fn memory_size(&self) -> usize {
        self.keys.memory_size()
            + self.store.memory_size()
            + self.partitions.capacity() * size_of::<Partition<K>>()
            + self.slots as usize * size_of::<Block<K>>()
            + self.expiry.memory_size()
            + self.aggregates.memory_size()
            + self.result_bytes
            // a block is three quarters full on average
            + self.rows * size_of::<(K, RowId)>() * 4 / 3
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let rows = |partition: &Partition<K>| -> Vec<RowId> {
            partition.blocks.iter().flat_map(|block| &block.rows).map(|(_, row)| *row).collect()
        };
        let (mut ids, mut written): (Vec<RowId>, Vec<i64>) = (vec![], vec![]);
        for (slot, partition) in self.partitions.iter().enumerate() {
            ids.extend(rows(partition));
            written.resize(ids.len(), self.expiry.written(slot as u32));
        }
        keyed_snapshot(self.name(), &self.node.keys, &self.store.rows(&ids)?, vec![("$written", written)])
    }

    fn restore(&mut self, saved: &RecordBatch) -> Result<()> {
        let (batch, extra) = split_extra(saved, &self.node.input, 1)?;
        let slots = self.intern(&batch)?;
        let keys = self.sort_keys.encode(batch.columns(), batch.num_rows())?;
        self.store.open(&batch);
        for (row, slot) in slots.into_iter().enumerate() {
            let id = self.store.add(row);
            let partition = &mut self.partitions[slot as usize];
            partition.is_computed = false;
            if partition.blocks.is_empty() {
                partition.blocks.push(Block::new(NOTHING));
            }
            if let Some(block) = partition.blocks.last_mut() {
                block.rows.push((K::of(keys.row(row)), id));
            }
            self.rows += 1;
            if let Some(written) = extra.first().and_then(|written| written.get(row)) {
                self.expiry.touch(slot, *written);
            }
        }
        self.store.close()
    }

    fn evictable(&self) -> Option<Evictable> {
        Some(Evictable { keys: self.node.keys.clone(), ttl: self.node.ttl })
    }
}
