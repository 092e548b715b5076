//! Partitions in order, and their results.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions, UInt32Array, new_empty_array,
};
use arrow::compute::kernels::zip::zip;
use arrow::compute::{cast, interleave, take};
use arrow::datatypes::{DataType, Schema};
use datafusion_common::{Result, ScalarValue};
use datafusion_streaming_udfs::aggregate::{Fate, OutputLayout};

use super::ValueOverNode;
use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::aggregate::{AggregateCall, Aggregates};
use crate::operators::over::OverCall;
use crate::runtime::{Context, Operator, Output, TableSnapshot};
use crate::state::{
    Evictable, Expiry, KeyInterner, Place, RowId, RowStore, SortKey, SortKeys, StateTable, equal_values,
    keyed_snapshot, split_extra,
};

pub(super) struct ValueOver<K> {
    node: ValueOverNode,
    /// The columns in which a row must agree to be taken back.
    compared: Vec<usize>,
    /// The columns that calls read.
    arguments: Vec<usize>,
    /// Of the partition that is looked at.
    aggregates: Aggregates,
    state: Partitions<K>,
}

struct Partitions<K> {
    node: ValueOverNode,
    keys: KeyInterner,
    sort_keys: SortKeys,
    store: RowStore,
    partitions: Vec<Partition<K>>,
    arrivals: u64,
    rows: usize,
    /// By partition.
    expiry: Expiry,
}

#[derive(Debug, Clone)]
struct Partition<K> {
    rows: BTreeMap<(K, u64), RowId>,
    /// The results of the calls for the rows, in order; `None`: not computed yet.
    results: Option<Vec<ArrayRef>>,
}

/// A change of one row, as it is told.
#[derive(Default)]
struct Told {
    places: Vec<Place>,
    kinds: Vec<RowKind>,
    /// Where the results of each row are: in those before (0) or after (1), and at which place.
    results: Vec<(usize, usize)>,
}

impl Told {
    fn push(&mut self, kind: RowKind, place: Place, after: bool, result: usize) {
        self.kinds.push(kind);
        self.places.push(place);
        self.results.push((usize::from(after), result));
    }
}

impl<K: SortKey> ValueOver<K> {
    pub(super) fn try_new(node: ValueOverNode) -> Result<Self> {
        let types: Vec<DataType> =
            node.input.fields().iter().map(|field| field.data_type().clone()).collect();
        let (mut calls, mut arguments): (Vec<AggregateCall>, Vec<usize>) = (vec![], vec![]);
        for call in &node.calls {
            match call {
                OverCall::Aggregate(call) => {
                    arguments.extend(&call.args);
                    calls.push(call.clone());
                }
                OverCall::Lag { column, .. } => arguments.push(*column),
                _ => {}
            }
        }
        let mut aggregates = Aggregates::try_new(&calls, &types, false)?;
        aggregates.grow(1);
        let key_types: Vec<DataType> = node.keys.iter().map(|key| types[*key].clone()).collect();
        Ok(ValueOver {
            compared: (0..types.len()).filter(|column| !node.ignored.contains(column)).collect(),
            arguments,
            aggregates,
            state: Partitions {
                keys: KeyInterner::try_new(&key_types)?,
                sort_keys: SortKeys::try_new(vec![node.sort], &types)?,
                store: RowStore::new(Arc::clone(&node.input)),
                partitions: vec![],
                arrivals: 0,
                rows: 0,
                expiry: Expiry::new(node.ttl),
                node: node.clone(),
            },
            node,
        })
    }

    /// The results of all calls for the rows of a partition, in order.
    fn results_of(&mut self, partition: usize) -> Result<Vec<ArrayRef>> {
        let rows = &self.state.partitions[partition].rows;
        let count = rows.len();
        let places: Vec<Place> = rows.values().map(|row| self.state.store.place(*row)).collect();
        // the first and the last peer of each row, and how many different keys there are up to it
        let (mut first, mut last, mut different) =
            (vec![0usize; count], vec![0usize; count], vec![0i64; count]);
        let mut keys = rows.keys().enumerate().peekable();
        let (mut start, mut number) = (0, 0);
        while let Some((row, (key, _))) = keys.next() {
            let ends = keys.peek().is_none_or(|(_, (next, _))| next != key);
            if ends || !self.node.has_peers {
                let from = if self.node.has_peers { start } else { row };
                number += 1;
                first[from..=row].fill(from);
                last[from..=row].fill(row);
                different[from..=row].fill(number);
                start = row + 1;
            }
        }

        let mut columns: Vec<ArrayRef> = vec![];
        let mut fields = vec![];
        for (column, field) in self.node.input.fields().iter().enumerate() {
            let array = match self.arguments.contains(&column) {
                true => self.state.store.gather_column(column, &places)?,
                false => Arc::new(arrow::array::NullArray::new(count)),
            };
            fields.push(field.as_ref().clone().with_data_type(array.data_type().clone()).with_nullable(true));
            columns.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?;
        self.aggregates.clear(&[0]);
        let fates = vec![Fate::Update; count];
        let folded = self.aggregates.fold(&batch, &vec![0; count], None, &fates, OutputLayout::Single)?;
        let peers = UInt32Array::from_iter_values(last.iter().map(|row| *row as u32));
        let mut folded = folded.values.into_iter();
        let mut results = Vec::with_capacity(self.node.calls.len());
        for (call, field) in self.node.calls.iter().zip(&self.node.schema.fields()[self.node.width..]) {
            let values: ArrayRef = match call {
                OverCall::Aggregate(_) => match folded.next() {
                    Some(values) => take(&values, &peers, None)?,
                    None => new_empty_array(field.data_type()),
                },
                OverCall::RowNumber => Arc::new(Int64Array::from_iter_values(1..=count as i64)),
                OverCall::Rank => {
                    Arc::new(Int64Array::from_iter_values(first.iter().map(|row| *row as i64 + 1)))
                }
                OverCall::DenseRank => Arc::new(Int64Array::from(different.clone())),
                OverCall::Lag { column, offset, default } => {
                    lagged(batch.column(*column), &last, *offset, default.as_ref())?
                }
            };
            results.push(if values.data_type() == field.data_type() {
                values
            } else {
                cast(&values, field.data_type())?
            });
        }
        Ok(results)
    }

    /// A row comes or goes; what that changes. `None`: a retraction of a row that is not there.
    fn change(
        &mut self,
        partition: usize,
        row: usize,
        key: K,
        kind: RowKind,
    ) -> Result<Option<ChangelogBatch>> {
        let before = match self.state.partitions[partition].results.take() {
            Some(results) => results,
            None => self.results_of(partition)?,
        };
        let equal_keys = (Bound::Included((key.clone(), 0)), Bound::Included((key.clone(), u64::MAX)));
        let known = &self.state.partitions[partition].rows;
        // the peers of a row come before it in the order of arrival, and are told before it
        let first_told = match self.node.has_peers {
            true => known.range(..(key.clone(), 0)).count(),
            false => known.range(..=(key.clone(), u64::MAX)).count(),
        };
        let mut told = Told::default();
        let after = if kind.is_retraction() {
            let mut same =
                known.range(equal_keys).filter(|(_, id)| self.state.store.equals(**id, row, &self.compared));
            let Some((found, id)) = same.next().map(|(found, id)| (found.clone(), *id)) else {
                self.state.partitions[partition].results = Some(before);
                return Ok(None);
            };
            let position = known.range(..&found).count();
            told.push(RowKind::Delete, self.state.store.place(id), false, position);
            self.state.partitions[partition].rows.remove(&found);
            self.state.rows -= 1;
            let after = self.results_of(partition)?;
            let first_told = if self.node.has_peers { first_told } else { position };
            for (number, id) in self.state.partitions[partition].rows.values().enumerate().skip(first_told) {
                let old = if number < position { number } else { number + 1 };
                self.tell_if_changed(&mut told, *id, (&before, old), (&after, number));
            }
            self.state.store.remove(id);
            after
        } else {
            let position = known.range(..=(key.clone(), u64::MAX)).count();
            self.state.arrivals += 1;
            let id = self.state.store.add(row);
            self.state.partitions[partition].rows.insert((key, self.state.arrivals), id);
            self.state.rows += 1;
            let after = self.results_of(partition)?;
            for (number, id) in self.state.partitions[partition].rows.values().enumerate().skip(first_told) {
                if number == position {
                    told.push(kind, self.state.store.place(*id), true, number);
                    continue;
                }
                let old = if number < position { number } else { number - 1 };
                self.tell_if_changed(&mut told, *id, (&before, old), (&after, number));
            }
            after
        };
        let told = self.told(told, &before, &after)?;
        self.state.partitions[partition].results = Some(after);
        Ok(Some(told))
    }

    fn tell_if_changed(
        &self,
        told: &mut Told,
        id: RowId,
        (before, old): (&[ArrayRef], usize),
        (after, new): (&[ArrayRef], usize),
    ) {
        if before.iter().zip(after).all(|(before, after)| equal_values(before, old, after, new)) {
            return;
        }
        let place = self.state.store.place(id);
        if self.node.update_before {
            told.push(RowKind::UpdateBefore, place, false, old);
        }
        told.push(RowKind::UpdateAfter, place, true, new);
    }

    fn told(&self, told: Told, before: &[ArrayRef], after: &[ArrayRef]) -> Result<ChangelogBatch> {
        let mut columns = Vec::with_capacity(self.node.schema.fields().len());
        for column in 0..self.node.width {
            columns.push(self.state.store.gather_column(column, &told.places)?);
        }
        for (before, after) in before.iter().zip(after) {
            columns.push(interleave(&[before.as_ref(), after.as_ref()], &told.results)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(told.kinds.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.node.schema), columns, &options)?;
        ChangelogBatch::try_new(batch, told.kinds.into())
    }
}

/// The values `offset` rows before the last peer of each row.
fn lagged(
    values: &ArrayRef,
    last_peers: &[usize],
    offset: usize,
    default: Option<&ScalarValue>,
) -> Result<ArrayRef> {
    let before: UInt32Array =
        last_peers.iter().map(|last| last.checked_sub(offset).map(|row| row as u32)).collect();
    let lagged = take(values, &before, None)?;
    let Some(default) = default else { return Ok(lagged) };
    let is_there: BooleanArray = before.iter().map(|row| Some(row.is_some())).collect();
    Ok(zip(&is_there, &lagged, &default.cast_to(values.data_type())?.to_scalar()?)?)
}

impl<K: SortKey> Partitions<K> {
    fn intern(&mut self, batch: &RecordBatch) -> Result<Vec<u32>> {
        let keys: Vec<ArrayRef> = self.node.keys.iter().map(|key| Arc::clone(batch.column(*key))).collect();
        let mut slots = vec![];
        self.keys.intern(&keys, batch.num_rows(), &mut slots)?;
        self.partitions.resize_with(self.keys.slots(), || Partition { rows: BTreeMap::new(), results: None });
        self.expiry.grow(self.keys.slots());
        Ok(slots)
    }

    /// Drops the rows of a partition.
    fn clear(&mut self, slot: u32) {
        let partition = &mut self.partitions[slot as usize];
        partition.results = None;
        for row in std::mem::take(&mut partition.rows).into_values() {
            self.store.remove(row);
            self.rows -= 1;
        }
    }

    /// Gives back the slots of those partitions that have no rows.
    fn release(&mut self, mut slots: Vec<u32>) {
        slots.sort_unstable();
        slots.dedup();
        slots.retain(|slot| self.partitions[*slot as usize].rows.is_empty());
        for slot in &slots {
            self.partitions[*slot as usize].results = None;
            self.expiry.forget(*slot);
        }
        self.keys.release(&slots);
    }
}

impl<K: SortKey> Operator for ValueOver<K> {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let batch = changes.batch();
        let slots = self.state.intern(batch)?;
        let keys = self.state.sort_keys.encode(batch.columns(), batch.num_rows())?;
        let mut outputs = vec![];
        self.state.store.open(batch);
        for (row, slot) in slots.iter().enumerate() {
            if self.state.expiry.is_expired(*slot, cx.processing_time) {
                self.state.clear(*slot);
            }
            match self.change(*slot as usize, row, K::of(keys.row(row)), changes.kind(row))? {
                Some(told) => outputs.push(told),
                None => cx.metrics.ignored_retractions.add(1),
            }
            self.state.expiry.touch(*slot, cx.processing_time);
        }
        self.state.store.close()?;
        self.state.release(slots);
        out.data(ChangelogBatch::concat(&self.node.schema, &outputs)?);
        Ok(())
    }

    fn next_timer(&self) -> Option<i64> {
        self.state.expiry.next_sweep()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, _out: &mut Output) -> Result<()> {
        let expired = self.state.expiry.sweep(cx.processing_time);
        expired.iter().for_each(|slot| self.state.clear(*slot));
        self.state.release(expired);
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.state]
    }
}

impl<K: SortKey> StateTable for Partitions<K> {
    fn name(&self) -> &str {
        "rows"
    }

    fn memory_size(&self) -> usize {
        let results = self.node.calls.len() * size_of::<i64>();
        self.keys.memory_size()
            + self.store.memory_size()
            + self.partitions.capacity() * size_of::<Partition<K>>()
            + self.expiry.memory_size()
            // a B-tree is two thirds full on average
            + self.rows * (size_of::<((K, u64), RowId)>() * 3 / 2 + results)
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let ids: Vec<RowId> =
            self.partitions.iter().flat_map(|partition| partition.rows.values().copied()).collect();
        let written = self.partitions.iter().enumerate().flat_map(|(slot, partition)| {
            std::iter::repeat_n(self.expiry.written(slot as u32), partition.rows.len())
        });
        let written = vec![("$written", written.collect())];
        keyed_snapshot(self.name(), &self.node.keys, &self.store.rows(&ids)?, written)
    }

    fn restore(&mut self, saved: &RecordBatch) -> Result<()> {
        let (batch, extra) = split_extra(saved, &self.node.input, 1)?;
        let slots = self.intern(&batch)?;
        let keys = self.sort_keys.encode(batch.columns(), batch.num_rows())?;
        self.store.open(&batch);
        for (row, slot) in slots.into_iter().enumerate() {
            self.arrivals += 1;
            let id = self.store.add(row);
            self.partitions[slot as usize].rows.insert((K::of(keys.row(row)), self.arrivals), id);
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
