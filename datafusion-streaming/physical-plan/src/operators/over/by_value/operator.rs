//! Changes of partitions, and what they change of the results behind them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array, NullArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion_common::{Result, internal_err};
use datafusion_streaming_udfs::aggregate::{Fate, OutputLayout};

use super::ValueOverNode;
use super::partitions::{Partitions, SCRATCH};
use super::told::{BlockResults, Told};
use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::over::OverCall;
use crate::operators::over::call::shifted_column;
use crate::runtime::{Context, Operator, Output};
use crate::state::{Place, SortKey, StateTable, equal_values};

pub(super) struct ValueOver<K> {
    node: ValueOverNode,
    /// The columns in which a row must agree to be taken back.
    compared: Vec<usize>,
    /// The input with NULLs in place of the columns that no call reads.
    arguments: SchemaRef,
    state: Partitions<K>,
}

/// A row that comes or goes.
struct Change {
    kind: RowKind,
    block: usize,
    /// Its place in the block.
    place: usize,
    /// How many rows of the partition are in front of it.
    rows_before: usize,
    /// The first row of the block whose results may change.
    first: usize,
}

impl Change {
    /// The place that a row of the block had before the change, given that which it has now; `None` for a row that
    /// has come.
    fn old_place(&self, block: usize, now: usize) -> Option<usize> {
        match (block == self.block, self.kind.is_retraction()) {
            (false, _) => Some(now),
            (true, true) => Some(if now < self.place { now } else { now + 1 }),
            (true, false) if now == self.place => None,
            (true, false) => Some(if now < self.place { now } else { now - 1 }),
        }
    }
}

/// What is in front of a block.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    rows: usize,
    groups: usize,
}

impl<K: SortKey> ValueOver<K> {
    pub(super) fn try_new(node: ValueOverNode) -> Result<Self> {
        let types: Vec<DataType> =
            node.input.fields().iter().map(|field| field.data_type().clone()).collect();
        let mut read: Vec<usize> = vec![];
        for call in &node.calls {
            match call {
                OverCall::Aggregate(call) => read.extend(call.args.iter().chain(&call.filter)),
                OverCall::Lead { .. } => return internal_err!("LEAD over a column that is no time"),
                OverCall::Lag { .. } | OverCall::RowNumber | OverCall::Rank | OverCall::DenseRank => {}
            }
        }
        let argument = |(column, field): (usize, &FieldRef)| match read.contains(&column) {
            true => field.as_ref().clone().with_nullable(true),
            false => Field::new(field.name(), DataType::Null, true),
        };
        let arguments: Vec<Field> = node.input.fields().iter().enumerate().map(argument).collect();
        Ok(ValueOver {
            compared: (0..types.len()).filter(|column| !node.ignored.contains(column)).collect(),
            arguments: Arc::new(Schema::new(arguments)),
            state: Partitions::try_new(node.clone(), &types)?,
            node,
        })
    }

    /// What is in front of a block.
    fn before(&self, partition: usize, block: usize) -> Before {
        let blocks = &self.state.partitions[partition].blocks[..block];
        blocks.iter().fold(Before::default(), |before, block| Before {
            rows: before.rows + block.rows.len(),
            groups: before.groups + block.groups,
        })
    }

    /// The results of all calls for the rows of a block, which are folded.
    fn results_of(&mut self, partition: usize, number: usize, before: Before) -> Result<Vec<ArrayRef>> {
        let blocks = &mut self.state.partitions[partition].blocks;
        let block = &mut blocks[number];
        let count = block.rows.len();
        let places: Vec<Place> = block.rows.iter().map(|(_, row)| self.state.store.place(*row)).collect();
        // the first and the last peer of each row, and how many different keys there are up to it
        let (mut first, mut last, mut groups) = (vec![0; count], vec![0u32; count], vec![0i64; count]);
        let (mut start, mut group) = (0, before.groups);
        for row in 0..count {
            let ends = !self.node.has_peers
                || block.rows.get(row + 1).is_none_or(|next| next.0 != block.rows[row].0);
            if ends {
                group += 1;
                first[start..=row].fill((before.rows + start + 1) as i64);
                last[start..=row].fill(row as u32);
                groups[start..=row].fill(group as i64);
                start = row + 1;
            }
        }
        block.groups = group - before.groups;

        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.arguments.fields().len());
        for (column, field) in self.arguments.fields().iter().enumerate() {
            columns.push(match field.data_type() {
                DataType::Null => Arc::new(NullArray::new(count)),
                _ => self.state.store.gather_column(column, &places)?,
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.arguments), columns, &options)?;
        let (slots, fates) = (vec![SCRATCH; count], vec![Fate::Update; count]);
        let folded = self.state.aggregates.fold(&batch, &slots, None, &fates, OutputLayout::Single)?;
        let peers = UInt32Array::from(last);
        let mut folded = folded.values.into_iter();
        let mut results = Vec::with_capacity(self.node.calls.len());
        for (call, field) in self.node.calls.iter().zip(&self.node.schema.fields()[self.node.width..]) {
            let values: ArrayRef = match call {
                OverCall::Aggregate(_) => match folded.next() {
                    Some(values) if self.node.has_peers => take(&values, &peers, None)?,
                    Some(values) => values,
                    None => return internal_err!("an OVER call without values"),
                },
                OverCall::RowNumber => {
                    let number = before.rows as i64;
                    Arc::new(Int64Array::from_iter_values(number + 1..=number + count as i64))
                }
                OverCall::Rank => Arc::new(Int64Array::from(first.clone())),
                OverCall::DenseRank => Arc::new(Int64Array::from(groups.clone())),
                OverCall::Lag { column, offset, default } | OverCall::Lead { column, offset, default } => {
                    let found: Vec<Option<Place>> = peers
                        .values()
                        .iter()
                        .map(|last| self.row_before(partition, number, *last, *offset))
                        .collect();
                    shifted_column(&self.state.store, *column, &found, &places, default.as_ref())?
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

    /// The row so many rows before one of a block.
    fn row_before(&self, partition: usize, block: usize, row: u32, offset: usize) -> Option<Place> {
        let blocks = &self.state.partitions[partition].blocks;
        let place =
            |block: usize, row: usize| blocks[block].rows.get(row).map(|(_, id)| self.state.store.place(*id));
        let (mut block, mut row, mut offset) = (block, row as usize, offset);
        while offset > row {
            offset -= row + 1;
            block = block.checked_sub(1)?;
            row = blocks[block].rows.len() - 1;
        }
        place(block, row - offset)
    }

    /// The results of a partition that comes from a snapshot.
    fn compute(&mut self, partition: usize) -> Result<()> {
        self.state.cut_anew(partition);
        let mut before = Before::default();
        for block in 0..self.state.partitions[partition].blocks.len() {
            match block {
                0 => self.state.start_at(partition, block)?,
                _ => self.state.keep_prefix(partition, block)?,
            }
            let results = self.results_of(partition, block, before)?;
            self.state.set_results(partition, block, results);
            let block = &self.state.partitions[partition].blocks[block];
            before = Before { rows: before.rows + block.rows.len(), groups: before.groups + block.groups };
        }
        self.state.partitions[partition].is_computed = true;
        Ok(())
    }

    /// A row comes or goes, and what that changes is told; `false`: a retraction of a row that is not there.
    fn change(&mut self, slot: u32, row: usize, key: K, kind: RowKind, told: &mut Told) -> Result<bool> {
        let partition = slot as usize;
        if !self.state.partitions[partition].is_computed {
            self.compute(partition)?;
        }
        // blocks up to this one have to be computed, whatever their results
        let mut at_least = 0;
        let (block, place) = if kind.is_retraction() {
            let Some(found) = self.state.find(partition, &key, row, &self.compared) else { return Ok(false) };
            let block = &self.state.partitions[partition].blocks[found.0];
            let place = self.state.store.place(block.rows[found.1].1);
            told.push(RowKind::Delete, place, &mut BlockResults::new(&block.results), found.1);
            self.state.remove(partition, found);
            self.state.tidy(partition, found.0)?;
            found
        } else {
            let (mut block, mut place) = self.state.place_of(partition, &key);
            if self.state.split(partition, block) {
                at_least = block + 1;
                (block, place) = self.state.place_of(partition, &key);
            }
            self.state.insert(partition, (block, place), key.clone(), row);
            (block, place)
        };
        let first_block = if at_least > 0 { at_least - 1 } else { block };
        let Some(changed) = self.state.partitions[partition].blocks.get(block) else { return Ok(true) };
        let first = match self.node.has_peers {
            true => changed.rows.partition_point(|(other, _)| *other < key),
            false => place,
        };
        let rows_before = self.before(partition, block).rows + place;
        self.tell(
            partition,
            first_block,
            &Change { kind, block, place, rows_before, first },
            at_least,
            told,
        )?;
        Ok(true)
    }

    /// Computes the results from a block on, as far as they change, and tells what has changed.
    fn tell(
        &mut self,
        partition: usize,
        from: usize,
        change: &Change,
        at_least: usize,
        told: &mut Told,
    ) -> Result<()> {
        let mut before = self.before(partition, from);
        self.state.start_at(partition, from)?;
        for number in from..self.state.partitions[partition].blocks.len() {
            if number > from {
                self.state.keep_prefix(partition, number)?;
            }
            let after = self.results_of(partition, number, before)?;
            let block = &self.state.partitions[partition].blocks[number];
            before = Before { rows: before.rows + block.rows.len(), groups: before.groups + block.groups };
            let mut is_settled = false;
            if number >= change.block {
                let first = if number == change.block { change.first } else { 0 };
                let mut old_results = BlockResults::new(&block.results);
                let mut new_results = BlockResults::new(&after);
                for (now, (_, id)) in block.rows.iter().enumerate().skip(first) {
                    let place = self.state.store.place(*id);
                    let Some(old) = change.old_place(number, now) else {
                        told.push(change.kind, place, &mut new_results, now);
                        continue;
                    };
                    let mut results = old_results.arrays().iter().zip(&after);
                    if results.all(|(before, after)| equal_values(before, old, after, now)) {
                        continue;
                    }
                    if self.node.update_before {
                        told.push(RowKind::UpdateBefore, place, &mut old_results, old);
                    }
                    told.push(RowKind::UpdateAfter, place, &mut new_results, now);
                }
                is_settled =
                    number >= at_least && self.is_settled(change, number, before, &block.results, &after);
            }
            self.state.set_results(partition, number, after);
            if is_settled {
                break;
            }
        }
        Ok(())
    }

    /// Whether nothing changes behind a block, given its results before and after the change and what is in front of
    /// the next.
    fn is_settled(
        &self,
        change: &Change,
        block: usize,
        next: Before,
        before: &[ArrayRef],
        after: &[ArrayRef],
    ) -> bool {
        let Some(last) = after.first().and_then(|results| results.len().checked_sub(1)) else { return false };
        // only of a row behind the change does it say something that its results are as they were
        let is_behind = block > change.block
            || last > change.place
            || (change.kind.is_retraction() && last == change.place);
        let Some(old) = change.old_place(block, last).filter(|_| is_behind) else { return false };
        self.node.calls.iter().zip(before.iter().zip(after)).all(|(call, (before, after))| match call {
            OverCall::Aggregate(call) => {
                call.function.value_is_state(call.distinct, &call.return_type)
                    && equal_values(before, old, after, last)
            }
            OverCall::DenseRank => equal_values(before, old, after, last),
            OverCall::RowNumber | OverCall::Rank => false,
            OverCall::Lag { offset, .. } | OverCall::Lead { offset, .. } => {
                next.rows > change.rows_before.saturating_add(*offset)
            }
        })
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
        let mut told = Told::default();
        self.state.store.open(batch);
        for (row, slot) in slots.iter().enumerate() {
            if self.state.expiry.is_expired(*slot, cx.processing_time) {
                self.state.clear(*slot);
            }
            if !self.change(*slot, row, K::of(keys.row(row)), changes.kind(row), &mut told)? {
                cx.metrics.ignored_retractions.add(1);
            }
            self.state.expiry.touch(*slot, cx.processing_time);
            if told.is_large()
                && let Some(changes) =
                    std::mem::take(&mut told).finish(&self.state.store, &self.node.schema)?
            {
                out.data(changes);
            }
        }
        if let Some(changes) = told.finish(&self.state.store, &self.node.schema)? {
            out.data(changes);
        }
        self.state.store.close()?;
        self.state.release(slots);
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
