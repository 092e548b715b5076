//! Partitions, sort keys and snapshots: what the strategies have in common.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, Schema, SchemaRef};
use arrow::row::Row;
use datafusion_common::Result;

use super::emitter::Emitter;
use super::{RankEnd, Strategy, TopNNode};
use crate::changelog::ChangelogBatch;
use crate::operators::row_changes::RowChanges;
use crate::runtime::{Context, Operator, Output, TableSnapshot};
use crate::state::{
    Evictable, Expiry, KeyInterner, RowId, RowStore, SortKeys, StateTable, keyed_snapshot, split_extra,
};

/// What a strategy keeps of each partition: indexed by its slot.
pub(super) trait Ranking: Send {
    /// Makes room for partitions and row keys.
    fn grow(&mut self, partitions: usize, row_keys: usize);

    /// A row comes or goes.
    fn change(&mut self, change: Change<'_>, store: &mut RowStore, out: &mut Emitter) -> Changed;

    /// The rows of a partition in order.
    fn rows(&self, partition: u32) -> Vec<RowId>;

    /// Puts a row of a snapshot behind those of its partition that are there.
    fn restore(&mut self, partition: u32, key: Row<'_>, row: RowId, row_key: u32);

    /// Forgets a partition; what was its rows.
    fn clear(&mut self, partition: u32) -> Vec<RowId>;

    /// Whether the row of this key is kept.
    fn has_row_key(&self, row_key: u32) -> bool {
        let _ = row_key;
        true
    }

    fn memory_size(&self) -> usize;
}

/// A row that comes or goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change<'a> {
    pub partition: u32,
    /// The row in the open batch.
    pub row: usize,
    pub key: Row<'a>,
    pub row_key: u32,
    pub retraction: bool,
    /// The last rank.
    pub end: usize,
}

/// What came of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Changed {
    /// The state is as it was.
    Nothing,
    /// The state of the partition was written.
    Written,
    /// The row to take back is not there.
    Unknown,
}

pub(super) struct TopN<R> {
    state: TopNState<R>,
    /// Only with the last rank from a column.
    bounds: Option<Bounds>,
}

struct TopNState<R> {
    node: TopNNode,
    partitions: KeyInterner,
    row_keys: Option<KeyInterner>,
    store: RowStore,
    sort_keys: SortKeys,
    ranking: R,
    expiry: Expiry,
}

impl<R: Ranking> TopN<R> {
    pub(super) fn try_new(node: TopNNode, ranking: R) -> Result<Self> {
        let types: Vec<DataType> =
            node.input.fields().iter().map(|field| field.data_type().clone()).collect();
        let interner = |columns: &[usize]| {
            KeyInterner::try_new(&columns.iter().map(|column| types[*column].clone()).collect::<Vec<_>>())
        };
        let row_keys = match &node.strategy {
            Strategy::Update(key) => Some(interner(key)?),
            _ => None,
        };
        let bounds = match node.range.end {
            RankEnd::Column(column) => Some(Bounds::try_new(&node, column)?),
            RankEnd::Constant(_) => None,
        };
        let state = TopNState {
            partitions: interner(&node.keys)?,
            row_keys,
            store: RowStore::new(Arc::clone(&node.input)),
            sort_keys: SortKeys::try_new(node.sort.clone(), &types)?,
            ranking,
            expiry: Expiry::new(node.ttl),
            node,
        };
        Ok(TopN { state, bounds })
    }
}

fn columns_of(batch: &RecordBatch, columns: &[usize]) -> Vec<ArrayRef> {
    columns.iter().map(|column| Arc::clone(batch.column(*column))).collect()
}

impl<R: Ranking> TopNState<R> {
    /// The partition and the row key of each row.
    fn intern(&mut self, batch: &RecordBatch) -> Result<(Vec<u32>, Vec<u32>)> {
        let (mut slots, mut row_keys) = (vec![], vec![]);
        self.partitions.intern(&columns_of(batch, &self.node.keys), batch.num_rows(), &mut slots)?;
        let mut known_row_keys = 0;
        if let (Some(interner), Strategy::Update(key)) = (&mut self.row_keys, &self.node.strategy) {
            interner.intern(&columns_of(batch, key), batch.num_rows(), &mut row_keys)?;
            known_row_keys = interner.slots();
        }
        self.ranking.grow(self.partitions.slots(), known_row_keys);
        self.expiry.grow(self.partitions.slots());
        Ok((slots, row_keys))
    }

    /// Gives back the slots of row keys of a batch that did not stay.
    fn release_row_keys(&mut self, mut row_keys: Vec<u32>) {
        let Some(interner) = &mut self.row_keys else { return };
        row_keys.sort_unstable();
        row_keys.dedup();
        row_keys.retain(|row_key| !self.ranking.has_row_key(*row_key));
        interner.release(&row_keys);
    }

    fn clear(&mut self, partition: u32) {
        for row in self.ranking.clear(partition) {
            self.store.remove(row);
        }
        self.expiry.forget(partition);
    }
}

impl<R: Ranking> Operator for TopN<R> {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let batch = changes.batch();
        let state = &mut self.state;
        let (slots, mut row_keys) = state.intern(batch)?;
        let keys = state.sort_keys.encode(batch.columns(), batch.num_rows())?;
        let ends = self.bounds.as_mut().map(|bounds| bounds.of(batch)).transpose()?;
        let constant = match state.node.range.end {
            RankEnd::Constant(end) => end,
            RankEnd::Column(_) => 0,
        };
        let mut emitter = Emitter {
            changes: RowChanges::default(),
            start: state.node.range.start,
            has_rank: state.node.has_rank(),
            is_ranked: state.node.is_ranked(),
            is_top_1: state.node.is_top_1(),
            update_before: state.node.update_before,
        };
        let kinds = changes.kinds();
        state.store.open(batch);
        for (row, partition) in slots.into_iter().enumerate() {
            if state.expiry.is_expired(partition, cx.processing_time) {
                state.clear(partition);
            }
            let change = Change {
                partition,
                row,
                key: keys.row(row),
                row_key: row_keys.get(row).copied().unwrap_or_default(),
                retraction: kinds.is_some_and(|kinds| kinds.get(row).is_retraction()),
                end: ends.as_ref().map_or(constant, |ends| ends[row]),
            };
            match state.ranking.change(change, &mut state.store, &mut emitter) {
                Changed::Written => state.expiry.touch(partition, cx.processing_time),
                Changed::Unknown => cx.metrics.ignored_retractions.add(1),
                Changed::Nothing => {}
            }
        }
        if let Some(changes) = emitter.changes.finish(&state.store, &state.node.schema)? {
            out.data(changes);
        }
        state.release_row_keys(std::mem::take(&mut row_keys));
        state.store.close()
    }

    fn next_timer(&self) -> Option<i64> {
        self.state.expiry.next_sweep()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, _out: &mut Output) -> Result<()> {
        let expired = self.state.expiry.sweep(cx.processing_time);
        for partition in &expired {
            self.state.clear(*partition);
        }
        self.state.partitions.release(&expired);
        self.state.store.close()
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        let mut tables: Vec<&mut dyn StateTable> = vec![&mut self.state];
        if let Some(bounds) = &mut self.bounds {
            tables.push(bounds);
        }
        tables
    }
}

impl<R: Ranking> StateTable for TopNState<R> {
    fn name(&self) -> &str {
        "rows"
    }

    fn memory_size(&self) -> usize {
        self.partitions.memory_size()
            + self.row_keys.as_ref().map_or(0, KeyInterner::memory_size)
            + self.store.memory_size()
            + self.ranking.memory_size()
            + self.expiry.memory_size()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let (mut ids, mut written) = (vec![], vec![]);
        for partition in self.partitions.live_slots() {
            let rows = self.ranking.rows(partition);
            written.resize(written.len() + rows.len(), self.expiry.written(partition));
            ids.extend(rows);
        }
        let rows = self.store.rows(&ids)?;
        keyed_snapshot(self.name(), &self.node.keys, &rows, vec![("$written", written)])
    }

    fn restore(&mut self, saved: &RecordBatch) -> Result<()> {
        let (batch, extra) = split_extra(saved, &self.node.input, 1)?;
        let (slots, row_keys) = self.intern(&batch)?;
        let keys = self.sort_keys.encode(batch.columns(), batch.num_rows())?;
        self.store.open(&batch);
        for (row, partition) in slots.into_iter().enumerate() {
            let id = self.store.add(row);
            let row_key = row_keys.get(row).copied().unwrap_or_default();
            self.ranking.restore(partition, keys.row(row), id, row_key);
            self.expiry.touch(partition, extra[0][row]);
        }
        self.store.close()
    }

    fn evictable(&self) -> Option<Evictable> {
        Some(Evictable { keys: self.node.keys.clone(), ttl: self.node.ttl })
    }
}

/// The last rank of each partition, where it comes from a column: that of the first row counts.
struct Bounds {
    keys: Vec<usize>,
    column: usize,
    schema: SchemaRef,
    partitions: KeyInterner,
    ends: Vec<usize>,
}

impl Bounds {
    fn try_new(node: &TopNNode, column: usize) -> Result<Self> {
        let fields: Vec<_> = node.keys.iter().map(|key| node.input.field(*key).clone()).collect();
        let types: Vec<_> = fields.iter().map(|field| field.data_type().clone()).collect();
        Ok(Bounds {
            keys: node.keys.clone(),
            column,
            schema: Arc::new(Schema::new(fields)),
            partitions: KeyInterner::try_new(&types)?,
            ends: vec![],
        })
    }

    /// The last rank of the partition of each row; 0 lets nothing through.
    fn of(&mut self, batch: &RecordBatch) -> Result<Vec<usize>> {
        let values = cast(batch.column(self.column), &DataType::Int64)?;
        let values: &Int64Array = values.as_primitive::<Int64Type>();
        let mut slots = vec![];
        self.partitions.intern(&columns_of(batch, &self.keys), batch.num_rows(), &mut slots)?;
        let bound = |(row, slot): (usize, u32)| {
            let known = &mut self.ends;
            if slot as usize >= known.len() {
                known.resize(slot as usize + 1, usize::MAX);
            }
            if known[slot as usize] == usize::MAX {
                let value = if values.is_null(row) { 0 } else { values.value(row) };
                known[slot as usize] = usize::try_from(value).unwrap_or(0);
            }
            known[slot as usize]
        };
        Ok(slots.into_iter().enumerate().map(bound).collect())
    }
}

impl StateTable for Bounds {
    fn name(&self) -> &str {
        "rank_ends"
    }

    fn memory_size(&self) -> usize {
        self.partitions.memory_size() + self.ends.capacity() * size_of::<usize>()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let slots: Vec<u32> = (0..self.ends.len() as u32).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(slots.len()));
        let keys = self.partitions.columns(&slots)?;
        let rows = RecordBatch::try_new_with_options(Arc::clone(&self.schema), keys, &options)?;
        let ends = self.ends.iter().map(|end| *end as i64).collect();
        let keys: Vec<usize> = (0..self.keys.len()).collect();
        keyed_snapshot(self.name(), &keys, &rows, vec![("$end", ends)])
    }

    fn restore(&mut self, saved: &RecordBatch) -> Result<()> {
        let (keys, extra) = split_extra(saved, &self.schema, 1)?;
        let mut slots = vec![];
        self.partitions.intern(keys.columns(), keys.num_rows(), &mut slots)?;
        self.ends.resize(self.partitions.slots(), usize::MAX);
        for (slot, end) in slots.into_iter().zip(&extra[0]) {
            self.ends[slot as usize] = *end as usize;
        }
        Ok(())
    }

    fn evictable(&self) -> Option<Evictable> {
        Some(Evictable { keys: (0..self.keys.len()).collect(), ttl: 0 })
    }
}
