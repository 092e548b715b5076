//! MIN and MAX of values that may be retracted.

use std::borrow::Borrow;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array};
use arrow::datatypes::{DataType, Field, Fields};
use datafusion_common::Result;

use super::cells::Cells;
use super::column::{Element, grow_with, state_column, vec_size};
use super::entries::{EntryLists, entry_lists, list_type, numbered_value};
use super::members::Members;
use super::min_max::Extreme;
use super::multiset::Multiset;

/// One group: its values, and the extreme of them.
///
/// The extreme is looked up again only when it has lost its last row. That follows Flink, and shows
/// when a value is taken before it comes: it becomes the extreme when it comes, though its count is
/// zero by then, and stays it until another value beats it or a new extreme is looked up.
#[derive(Debug)]
struct Group<K> {
    /// `None` exactly where `live` is 0.
    extreme: Option<K>,
    /// How many members have a positive count.
    live: u32,
    values: Multiset<K>,
}

impl<K> Default for Group<K> {
    fn default() -> Self {
        Self { extreme: None, live: 0, values: Multiset::default() }
    }
}

/// The extremes of values that may be retracted.
#[derive(Debug)]
pub(super) struct RetractableExtremes<M: Members, X> {
    members: M,
    data_type: DataType,
    groups: Vec<Group<M::Key>>,
    /// Bytes that the groups own.
    owned: usize,
    /// How often a group has got another extreme.
    changes: u64,
    extreme: PhantomData<X>,
}

impl<M: Members, X: Extreme> RetractableExtremes<M, X> {
    pub(super) fn new(members: M, data_type: &DataType) -> Self {
        Self {
            members,
            data_type: data_type.clone(),
            groups: Vec::new(),
            owned: 0,
            changes: 0,
            extreme: PhantomData,
        }
    }

    /// Adds `delta` to the count of a member. Returns the count before.
    #[inline]
    fn count(&mut self, slot: usize, probe: &M::Probe, delta: i64) -> i64 {
        let values = &mut self.groups[slot].values;
        let heap = values.heap_size();
        let before = values.add(probe, delta, M::key);
        self.owned = self.owned.wrapping_add(values.heap_size()).wrapping_sub(heap);
        match (before == 0, before.wrapping_add(delta) == 0) {
            (true, false) => self.owned += M::owned(probe),
            (false, true) => self.owned -= M::owned(probe),
            _ => {}
        }
        before
    }

    fn set_extreme(&mut self, slot: usize, extreme: Option<M::Key>) {
        let bytes =
            |extreme: &Option<M::Key>| extreme.as_ref().map_or(0, |extreme| M::owned(extreme.borrow()));
        self.owned += bytes(&extreme);
        self.owned -= bytes(&self.groups[slot].extreme);
        self.groups[slot].extreme = extreme;
        self.changes += 1;
    }

    fn look_up_extreme(&mut self, slot: usize) {
        let group = &self.groups[slot];
        let extreme = if X::GREATEST { group.values.last() } else { group.values.first() };
        let extreme = extreme.filter(|_| group.live > 0).cloned();
        self.set_extreme(slot, extreme);
    }

    /// Adds the members of another state of a group.
    fn merge_group(
        &mut self,
        slot: usize,
        extreme: Option<M::Key>,
        members: impl Iterator<Item = (M::Key, i64)>,
    ) {
        if let Some(theirs) = extreme
            && self.groups[slot].extreme.as_ref().is_none_or(|ours| X::beats(&theirs, ours))
        {
            self.set_extreme(slot, Some(theirs));
        }
        let mut lost = false;
        for (member, count) in members {
            let before = self.count(slot, member.borrow(), count);
            let group = &mut self.groups[slot];
            match (before > 0, before.wrapping_add(count) > 0) {
                (false, true) => group.live += 1,
                (true, false) => {
                    group.live -= 1;
                    lost |= group.extreme.as_ref() == Some(&member);
                }
                _ => {}
            }
        }
        if lost || self.groups[slot].live == 0 {
            self.look_up_extreme(slot);
        }
    }

    /// The fields of a member in snapshots.
    fn entry_fields(&self) -> Fields {
        numbered_value(&self.data_type, "count")
    }
}

impl<M: Members, X: Extreme> Cells for RetractableExtremes<M, X> {
    type Args = M::Batch;
    type Value = M::Mark;
    type Output = M::Output;

    fn args(&mut self, args: &[ArrayRef]) -> Result<Self::Args> {
        self.members.batch(state_column(args, 0)?)
    }

    #[inline]
    fn add(&mut self, slot: usize, _: M::Mark, args: &Self::Args, row: usize) -> M::Mark {
        let value = M::get(args, row);
        let probe = value.borrow();
        if self.count(slot, probe, 1) == 0 {
            self.groups[slot].live += 1;
        }
        let group = &self.groups[slot];
        let beaten = group.extreme.as_ref().is_none_or(|extreme| X::beats(probe, extreme.borrow()));
        if beaten && group.live > 0 {
            self.set_extreme(slot, Some(M::key(probe)));
        }
        self.value(slot)
    }

    #[inline]
    fn retract(&mut self, slot: usize, before: M::Mark, args: &Self::Args, row: usize) -> M::Mark {
        let value = M::get(args, row);
        let probe = value.borrow();
        if self.count(slot, probe, -1) != 1 {
            return before;
        }
        let group = &mut self.groups[slot];
        group.live -= 1;
        if group.live == 0 || group.extreme.as_ref().is_some_and(|extreme| extreme.borrow() == probe) {
            self.look_up_extreme(slot);
        }
        self.value(slot)
    }

    #[inline(always)]
    fn value(&self, slot: usize) -> M::Mark {
        M::mark(self.groups[slot].extreme.as_ref(), self.changes)
    }

    fn output(&self, len: usize) -> Self::Output {
        self.members.output(len)
    }

    #[inline(always)]
    fn put(&self, at: usize, slot: usize, _: M::Mark, output: &mut Self::Output) {
        self.members.put(at, self.groups[slot].extreme.as_ref(), output);
    }

    fn finish(&self, output: Self::Output) -> Result<ArrayRef> {
        self.members.finish(output, &self.data_type)
    }

    fn grow(&mut self, slots: usize) {
        grow_with(&mut self.groups, slots);
    }

    fn clear(&mut self, slot: usize) {
        let group = std::mem::take(&mut self.groups[slot]);
        let keys = group.values.iter().map(|(member, _)| member).chain(&group.extreme);
        let text = keys.map(|key| M::owned(key.borrow())).sum::<usize>();
        self.owned -= group.values.heap_size() + text;
    }

    fn state_fields(&self) -> Vec<Field> {
        vec![
            Field::new("extreme", self.data_type.clone(), true),
            Field::new("values", list_type(self.entry_fields()), false),
        ]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let groups = || slots.iter().map(|&slot| &self.groups[slot as usize]);
        let extremes = self.members.collect(groups().map(|group| group.extreme.as_ref()), &self.data_type)?;
        let (mut keys, mut counts, mut lengths) = (Vec::new(), Vec::new(), Vec::with_capacity(slots.len()));
        for group in groups() {
            let start = counts.len();
            for (key, count) in group.values.iter() {
                keys.push(Some(key));
                counts.push(count);
            }
            lengths.push(counts.len() - start);
        }
        let keys = self.members.collect(keys.into_iter(), &self.data_type)?;
        let counts: ArrayRef = Arc::new(Int64Array::from(counts));
        Ok(vec![extremes, entry_lists(lengths, self.entry_fields(), vec![keys, counts])?])
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        let extremes = state_column(state, 0)?;
        let extreme_values = self.members.batch(extremes)?;
        let lists = EntryLists::new(state, 1)?;
        let keys = self.members.batch(lists.column(0)?)?;
        let counts = i64::values(lists.column(1)?)?;
        for (row, &slot) in slots.iter().enumerate() {
            let extreme = extremes.is_valid(row).then(|| M::key(M::get(&extreme_values, row).borrow()));
            let members =
                lists.entries(row).map(|entry| (M::key(M::get(&keys, entry).borrow()), counts[entry]));
            self.merge_group(slot as usize, extreme, members);
        }
        Ok(())
    }

    fn memory_size(&self) -> usize {
        vec_size(&self.groups) + self.owned
    }
}
