//! COLLECT.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, MapArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion_common::{Result, internal_err};

use super::cells::{CellState, Cells};
use super::column::{Element, grow_with, state_column, vec_size};
use super::entries::{EntryLists, entry_lists, list_type};
use super::members::{Members, dispatch_members};
use super::signature::{one_argument, storage_type};
use super::text::too_large;
use super::{AggregateArgs, AggregateState, StreamingAggregate};

/// `COLLECT`: the values of a group that are not NULL as a MULTISET, each with its count. Of no value
/// the multiset is empty, never NULL.
///
/// As in Flink, a value that is taken before it came has a count of -1, and one of 0 when it comes.
#[derive(Debug)]
pub struct Collect;

impl StreamingAggregate for Collect {
    fn name(&self) -> &str {
        "collect"
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(vec![storage_type(one_argument("COLLECT", arg_types)?).clone()])
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        let key = Field::new("key", one_argument("COLLECT", arg_types)?.clone(), false);
        let fields = Fields::from(vec![key, Field::new("value", DataType::Int32, false)]);
        let entries = Field::new("entries", DataType::Struct(fields), false);
        Ok(DataType::Map(Arc::new(entries), false))
    }

    fn is_nullable(&self) -> bool {
        false
    }

    fn state(&self, args: &AggregateArgs<'_>) -> Result<Box<dyn AggregateState>> {
        let DataType::Map(entries, _) = args.return_type else {
            return internal_err!("COLLECT as {}", args.return_type);
        };
        let DataType::Struct(fields) = entries.data_type() else {
            return internal_err!("COLLECT as {}", args.return_type);
        };
        let (entries, fields) = (Arc::clone(entries), fields.clone());
        dispatch_members!(fields[0].data_type(), members => CellState::boxed(Multisets {
            members,
            entries,
            fields,
            groups: Vec::new(),
            owned: 0,
            changes: 0,
        }))
    }
}

#[derive(Debug)]
struct Multisets<M: Members> {
    members: M,
    /// The field of the entries of the result.
    entries: FieldRef,
    /// The fields of an entry: a value, and its count.
    fields: Fields,
    groups: Vec<BTreeMap<M::Key, i32>>,
    /// Bytes that the values own.
    owned: usize,
    /// How often a group has changed.
    changes: u64,
}

impl<M: Members> Multisets<M> {
    fn count(&mut self, slot: usize, probe: &M::Probe, delta: i32) {
        self.changes += 1;
        let group = &mut self.groups[slot];
        match group.get_mut(probe) {
            Some(count) if *count == 1 && delta == -1 => {
                group.remove(probe);
                self.owned -= M::owned(probe);
            }
            Some(count) => *count = count.wrapping_add(delta),
            None => {
                group.insert(M::key(probe), delta);
                self.owned += M::owned(probe);
            }
        }
    }

    /// The values and counts of groups, one behind the other, and the number of values of each.
    fn entries<'a>(
        &self,
        groups: impl Iterator<Item = &'a BTreeMap<M::Key, i32>>,
    ) -> Result<(Vec<ArrayRef>, Vec<usize>)> {
        let (mut keys, mut counts, mut lengths) = (Vec::new(), Vec::<i32>::new(), Vec::new());
        for group in groups {
            keys.extend(group.keys().map(Some));
            counts.extend(group.values());
            lengths.push(group.len());
        }
        let keys = self.members.collect(keys.into_iter(), self.fields[0].data_type())?;
        Ok((vec![keys, Arc::new(Int32Array::from(counts))], lengths))
    }
}

/// Multisets on their way into an array.
#[derive(Debug)]
pub(super) struct MultisetOutput<M: Members> {
    values: M::Output,
    counts: Vec<i32>,
    lengths: Vec<usize>,
}

impl<M: Members> Cells for Multisets<M> {
    type Args = M::Batch;
    type Value = u64;
    type Output = MultisetOutput<M>;

    fn args(&mut self, args: &[ArrayRef]) -> Result<Self::Args> {
        self.members.batch(state_column(args, 0)?)
    }

    fn add(&mut self, slot: usize, _: u64, args: &Self::Args, row: usize) -> u64 {
        self.count(slot, M::get(args, row).borrow(), 1);
        self.changes
    }

    fn retract(&mut self, slot: usize, _: u64, args: &Self::Args, row: usize) -> u64 {
        self.count(slot, M::get(args, row).borrow(), -1);
        self.changes
    }

    fn value(&self, _: usize) -> u64 {
        self.changes
    }

    fn output(&self, len: usize) -> Self::Output {
        MultisetOutput {
            values: self.members.output(0),
            counts: Vec::new(),
            lengths: Vec::with_capacity(len),
        }
    }

    fn put(&self, _: usize, slot: usize, _: u64, output: &mut Self::Output) {
        let group = &self.groups[slot];
        for (key, count) in group {
            self.members.put(output.counts.len(), Some(key), &mut output.values);
            output.counts.push(*count);
        }
        output.lengths.push(group.len());
    }

    fn finish(&self, output: Self::Output) -> Result<ArrayRef> {
        if i32::try_from(output.counts.len()).is_err() {
            return Err(too_large("the multisets of COLLECT", output.counts.len(), "entries"));
        }
        let values = self.members.finish(output.values, self.fields[0].data_type())?;
        let counts: ArrayRef = Arc::new(Int32Array::from(output.counts));
        let entries = StructArray::try_new(self.fields.clone(), vec![values, counts], None)?;
        let offsets = OffsetBuffer::from_lengths(output.lengths);
        Ok(Arc::new(MapArray::try_new(Arc::clone(&self.entries), offsets, entries, None, false)?))
    }

    fn grow(&mut self, slots: usize) {
        grow_with(&mut self.groups, slots);
    }

    fn clear(&mut self, slot: usize) {
        let group = std::mem::take(&mut self.groups[slot]);
        self.owned -= group.keys().map(|key| M::owned(key.borrow())).sum::<usize>();
    }

    fn state_fields(&self) -> Vec<Field> {
        vec![Field::new("values", list_type(self.fields.clone()), false)]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let (columns, lengths) = self.entries(slots.iter().map(|&slot| &self.groups[slot as usize]))?;
        Ok(vec![entry_lists(lengths, self.fields.clone(), columns)?])
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        let lists = EntryLists::new(state, 0)?;
        let values = self.members.batch(lists.column(0)?)?;
        let counts = i32::values(lists.column(1)?)?;
        for (row, &slot) in slots.iter().enumerate() {
            for entry in lists.entries(row) {
                self.count(slot as usize, M::get(&values, entry).borrow(), counts[entry]);
            }
        }
        Ok(())
    }

    fn memory_size(&self) -> usize {
        // the nodes of the trees are taken for three quarters full
        let entries: usize = self.groups.iter().map(BTreeMap::len).sum();
        vec_size(&self.groups) + entries * size_of::<(M::Key, i32)>() / 3 * 4 + self.owned
    }
}
