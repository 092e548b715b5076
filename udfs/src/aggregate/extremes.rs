//! MIN and MAX of values that may be retracted.

use std::borrow::Borrow;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, ListArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Fields};
use datafusion_common::{Result, internal_datafusion_err};

use super::cells::Cells;
use super::column::{Element, state_column, vec_size};
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
    data_type: DataType,
    groups: Vec<Group<M::Key>>,
    /// Bytes that the groups own.
    owned: usize,
    /// How often a group has got another extreme.
    changes: u64,
    extreme: PhantomData<X>,
}

impl<M: Members, X: Extreme> RetractableExtremes<M, X> {
    pub(super) fn new(data_type: &DataType) -> Self {
        Self { data_type: data_type.clone(), groups: Vec::new(), owned: 0, changes: 0, extreme: PhantomData }
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

    /// The type of the members in snapshots.
    fn member_field(&self) -> Field {
        let value = Field::new("value", self.data_type.clone(), false);
        let count = Field::new("count", DataType::Int64, false);
        Field::new("item", DataType::Struct(Fields::from(vec![value, count])), false)
    }
}

impl<M: Members, X: Extreme> Cells for RetractableExtremes<M, X> {
    type Args = M::Batch;
    type Value = M::Mark;
    type Output = M::Output;

    fn args(&self, args: &[ArrayRef]) -> Result<Self::Args> {
        M::batch(state_column(args, 0)?)
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
        M::output(len)
    }

    #[inline(always)]
    fn put(&self, at: usize, slot: usize, _: M::Mark, output: &mut Self::Output) {
        M::put(at, self.groups[slot].extreme.as_ref(), output);
    }

    fn finish(&self, output: Self::Output) -> Result<ArrayRef> {
        M::finish(output, &self.data_type)
    }

    fn grow(&mut self, slots: usize) {
        if self.groups.len() < slots {
            self.groups.resize_with(slots, Group::default);
        }
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
            Field::new("values", DataType::List(Arc::new(self.member_field())), false),
        ]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let groups = || slots.iter().map(|&slot| &self.groups[slot as usize]);
        let extremes = M::collect(groups().map(|group| group.extreme.as_ref()), &self.data_type)?;
        let (mut members, mut counts, mut lengths) =
            (Vec::new(), Vec::new(), Vec::with_capacity(slots.len()));
        for group in groups() {
            let start = counts.len();
            for (member, count) in group.values.iter() {
                members.push(Some(member));
                counts.push(count);
            }
            lengths.push(counts.len() - start);
        }
        let member_field = self.member_field();
        let fields = match member_field.data_type() {
            DataType::Struct(fields) => fields.clone(),
            _ => Fields::empty(),
        };
        let members = M::collect(members.into_iter(), &self.data_type)?;
        let entries = StructArray::try_new(fields, vec![members, Arc::new(Int64Array::from(counts))], None)?;
        let offsets = OffsetBuffer::from_lengths(lengths);
        let values = ListArray::try_new(Arc::new(member_field), offsets, Arc::new(entries), None)?;
        Ok(vec![extremes, Arc::new(values)])
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        let extremes = state_column(state, 0)?;
        let extreme_values = M::batch(extremes)?;
        let lists = state_column(state, 1)?.as_list_opt::<i32>();
        let lists =
            lists.ok_or_else(|| internal_datafusion_err!("the state of {} holds no list", X::NAME))?;
        let entries = lists.values().as_struct();
        let members = M::batch(state_column(entries.columns(), 0)?)?;
        let counts = i64::values(state_column(entries.columns(), 1)?)?;
        for (row, &slot) in slots.iter().enumerate() {
            let extreme = extremes.is_valid(row).then(|| M::key(M::get(&extreme_values, row).borrow()));
            let entries = lists.value_offsets()[row] as usize..lists.value_offsets()[row + 1] as usize;
            let members = entries.map(|entry| (M::key(M::get(&members, entry).borrow()), counts[entry]));
            self.merge_group(slot as usize, extreme, members);
        }
        Ok(())
    }

    fn memory_size(&self) -> usize {
        vec_size(&self.groups) + self.owned
    }
}
