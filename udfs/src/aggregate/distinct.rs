//! DISTINCT: which rows add a value to a group or take its last copy.

use std::borrow::Borrow;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use ahash::RandomState;
use arrow::array::{Array, ArrayRef, BooleanArray, Int64Array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow::datatypes::{DataType, Field, Fields};
use datafusion_common::{Result, internal_err};

use super::Fate;
use super::column::{Element, grow_with, vec_size};
use super::entries::{EntryLists, entry_lists, list_type};
use super::java_hash;
use super::members::{Members, dispatch_members};
use super::membership::{Kept, Numbered, Seen, SlotMembers, Tallies, Tally};

/// The rows of a batch as DISTINCT sees them.
#[derive(Debug, Clone, Copy)]
pub struct DistinctRows<'a> {
    /// The group slot of each row.
    pub slots: &'a [u32],
    /// For each row, whether it takes its value back. `None`: no row does.
    pub retract: Option<&'a [bool]>,
    /// What each row does to its group: the members of a group end with it. `None`: groups only grow.
    pub fates: Option<&'a [Fate]>,
}

/// The members of each group in one DISTINCT column, shared by all calls on that column.
///
/// Each FILTER of those calls, and the absence of one, has its own count of a value: the value is a
/// member for it while the count is positive. [`DistinctMembership::apply`] counts the rows of a batch
/// and returns for each filter the rows that make a value a member or stop it being one. An aggregate
/// that folds just these rows is the DISTINCT aggregate.
///
/// ```text
///   COUNT(DISTINCT v), COUNT(DISTINCT v) FILTER (WHERE ok)         counts of 7 in the group afterwards
///
///   v  ok      mask of no filter   mask of ok
///   7  false   true                false                            1, 0
///   7  true    false               true                             2, 1
/// ```
///
/// Values are compared as Flink's state does: all NaNs are one, the two zeros are two, NULL is a value
/// too (most functions skip it afterwards). A value that is taken before it came has a count of -1, and
/// is not a member when it comes.
#[derive(Debug)]
pub struct DistinctMembership(Box<dyn Membership>);

/// What has changed in merging memberships: rows to be folded into the aggregates.
#[derive(Debug)]
pub struct MergedMembers {
    /// The group slot of each row.
    pub slots: Vec<u32>,
    /// The value of each row.
    pub values: ArrayRef,
    /// Whether the value is a member no longer.
    pub retract: Vec<bool>,
    /// For each filter, the rows that are for it.
    pub masks: Vec<BooleanArray>,
}

impl DistinctMembership {
    /// A membership for a column of `data_type` under so many filters. `retracting`: rows may be
    /// retracted; otherwise it is only kept which values there are.
    pub fn try_new(data_type: &DataType, filters: usize, retracting: bool) -> Result<Self> {
        dispatch_members!(data_type, members => Ok(match (filters, retracting) {
            (1, false) => boxed::<_, Seen>(members, data_type, filters),
            (1, true) => boxed::<_, i64>(members, data_type, filters),
            (0..=64, false) => boxed::<_, u64>(members, data_type, filters),
            _ => boxed::<_, Tallies>(members, data_type, filters),
        }))
    }

    /// The same for the first of two phases, whose members are merged into those of the second: snapshots have
    /// them in the order in which Flink merges them, that of Java's `HashMap`. The sum of floats
    /// depends on it, and the result of LISTAGG.
    pub fn for_partials(data_type: &DataType, filters: usize, retracting: bool) -> Result<Self> {
        dispatch_members!(data_type, members => Ok(match (filters, retracting) {
            (1, false) => boxed::<_, Numbered<Seen>>(members, data_type, filters),
            (1, true) => boxed::<_, Numbered<i64>>(members, data_type, filters),
            (0..=64, false) => boxed::<_, Numbered<u64>>(members, data_type, filters),
            _ => boxed::<_, Numbered<Tallies>>(members, data_type, filters),
        }))
    }

    /// Makes room for slots `0..slots`; new ones have no members. Never shrinks.
    pub fn grow(&mut self, slots: usize) {
        self.0.grow(slots);
    }

    /// Forgets the members of slots.
    pub fn clear(&mut self, slots: &[u32]) {
        self.0.clear(slots);
    }

    /// Counts rows in order. `filters` are the rows that pass each filter, `None` for all.
    ///
    /// Returns for each filter the rows that make their value a member, or with a retraction stop it
    /// being one.
    pub fn apply(
        &mut self,
        rows: &DistinctRows<'_>,
        values: &ArrayRef,
        filters: &[Option<&BooleanArray>],
    ) -> Result<Vec<BooleanArray>> {
        self.0.apply(rows, values, filters)
    }

    /// The fields of [`DistinctMembership::snapshot`]. One row a slot.
    pub fn state_fields(&self) -> Vec<Field> {
        self.0.state_fields()
    }

    /// The members of `slots` and their counts.
    pub fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        self.0.snapshot(slots)
    }

    /// Adds members of a snapshot; row i belongs to `slots[i]`. Merging into a clear slot restores it
    /// exactly.
    ///
    /// Returns what the aggregates must fold; one whose own state is merged too needs none of it.
    pub fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<MergedMembers> {
        self.0.merge(slots, state)
    }

    /// Adds the members of the slots `from` to those of `into`, for windows that are made of slices.
    pub fn merge_slots(&mut self, into: &[u32], from: &[u32]) -> Result<MergedMembers> {
        let state = self.snapshot(from)?;
        self.merge(into, &state)
    }

    /// Bytes held, by capacity.
    pub fn memory_size(&self) -> usize {
        self.0.memory_size()
    }
}

fn boxed<M: Members, T: Tally>(members: M, data_type: &DataType, filters: usize) -> DistinctMembership {
    DistinctMembership(Box::new(Slots::<M, T> {
        members,
        data_type: data_type.clone(),
        filters,
        hasher: RandomState::new(),
        slots: Vec::new(),
        next: 0,
        owned: 0,
    }))
}

trait Membership: Send + Sync + Debug {
    fn grow(&mut self, slots: usize);
    fn clear(&mut self, slots: &[u32]);
    fn apply(
        &mut self,
        rows: &DistinctRows<'_>,
        values: &ArrayRef,
        filters: &[Option<&BooleanArray>],
    ) -> Result<Vec<BooleanArray>>;
    fn state_fields(&self) -> Vec<Field>;
    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>>;
    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<MergedMembers>;
    fn memory_size(&self) -> usize;
}

/// So many rows are looked up at once.
const BLOCK_ROWS: usize = 64;

/// Members of more bytes than this are rarely in a cache.
const CACHED_BYTES: usize = 1 << 20;

/// The members of one slot.
#[derive(Debug)]
struct Slot<K, T> {
    members: SlotMembers<K, T>,
    null: Option<T>,
    /// The bytes of `members` on the heap, as they have been counted.
    heap: usize,
}

impl<K, T> Default for Slot<K, T> {
    fn default() -> Self {
        Self { members: SlotMembers::default(), null: None, heap: 0 }
    }
}

#[derive(Debug)]
struct Slots<M: Members, T> {
    members: M,
    data_type: DataType,
    filters: usize,
    hasher: RandomState,
    slots: Vec<Slot<M::Key, T>>,
    /// The number of the next value, where tallies know theirs.
    next: u64,
    /// Bytes that members own.
    owned: usize,
}

/// The values of a batch, ready for access by row.
struct Values<M: Members> {
    batch: M::Batch,
    nulls: Option<NullBuffer>,
}

impl<M: Members> Values<M> {
    #[inline(always)]
    fn get(&self, row: usize) -> Option<M::Borrowed<'_>> {
        let valid = self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        valid.then(|| M::get(&self.batch, row))
    }
}

impl DistinctRows<'_> {
    /// Whether the group of a row ends with it.
    #[inline(always)]
    fn ends(&self, row: usize) -> bool {
        self.fates.is_some_and(|fates| fates[row] == Fate::Last)
    }

    #[inline(always)]
    fn delta(&self, row: usize) -> i64 {
        if self.retract.is_some_and(|retract| retract[row]) { -1 } else { 1 }
    }
}

/// Which rows pass a filter.
struct Passing(Option<BooleanBuffer>);

impl Passing {
    fn new(filter: Option<&BooleanArray>) -> Self {
        Self(filter.map(|filter| match filter.nulls() {
            Some(nulls) => filter.values() & nulls.inner(),
            None => filter.values().clone(),
        }))
    }

    #[inline(always)]
    fn passes(&self, row: usize) -> bool {
        self.0.as_ref().is_none_or(|passing| passing.value(row))
    }
}

/// The rows of a mask, none at first.
struct Mask(Vec<u8>);

impl Mask {
    fn new(rows: usize) -> Self {
        Self(vec![0; rows.div_ceil(8)])
    }

    #[inline(always)]
    fn set(&mut self, row: usize, value: bool) {
        self.0[row / 8] |= u8::from(value) << (row % 8);
    }

    fn finish(self, rows: usize) -> BooleanArray {
        BooleanArray::new(BooleanBuffer::new(Buffer::from_vec(self.0), 0, rows), None)
    }
}

impl<M: Members, T: Tally> Slots<M, T> {
    /// Changes the tally of a value by `change`, and forgets the value if its tally is empty then.
    #[inline(always)]
    fn update<R>(
        &mut self,
        slot: usize,
        probe: Option<&M::Probe>,
        change: impl FnOnce(&mut T, bool) -> R,
    ) -> R {
        let (filters, number) = (self.filters, self.next);
        self.next += u64::from(T::NUMBERED);
        let slot = &mut self.slots[slot];
        let Some(probe) = probe else {
            let fresh = slot.null.is_none();
            let tally = slot.null.get_or_insert_with(|| T::new(filters, number));
            let result = change(tally, fresh);
            if tally.is_empty() {
                slot.null = None;
            }
            return result;
        };
        let hasher = &self.hasher;
        let (result, kept) = slot.members.update(
            probe,
            || hasher.hash_one(probe),
            |key| hasher.hash_one(<M::Key as Borrow<M::Probe>>::borrow(key)),
            || (M::key(probe), T::new(filters, number)),
            change,
        );
        if kept != Kept::Same {
            let member = M::owned(probe) + T::heap_size(filters);
            self.owned = if kept == Kept::New { self.owned + member } else { self.owned - member };
            self.owned = self.owned + slot.members.heap_size() - slot.heap;
            slot.heap = slot.members.heap_size();
        }
        result
    }

    /// Looks the values of rows up, so that the processor waits for the memory of many of them at once.
    /// Changing them one by one afterwards it is in a cache.
    fn read_ahead(&self, rows: Range<usize>, slots: &[u32], batch: &Values<M>) {
        if self.owned < CACHED_BYTES {
            return;
        }
        let mut known = 0;
        for row in rows {
            if let Some(value) = batch.get(row) {
                let members = &self.slots[slots[row] as usize].members;
                let probe = value.borrow();
                known += usize::from(members.contains(probe, || self.hasher.hash_one(probe)));
            }
        }
        std::hint::black_box(known);
    }

    /// Calls `count` with each row, and reads ahead for a block of them at a time.
    #[inline(always)]
    fn each_row(
        &mut self,
        rows: &DistinctRows<'_>,
        batch: &Values<M>,
        mut count: impl FnMut(&mut Self, usize, u32),
    ) {
        let len = rows.slots.len();
        for start in (0..len).step_by(BLOCK_ROWS) {
            let block = start..len.min(start + BLOCK_ROWS);
            self.read_ahead(block.clone(), rows.slots, batch);
            block.for_each(|row| count(self, row, rows.slots[row]));
        }
    }

    /// [`Membership::apply`] for a single filter.
    fn count_one(&mut self, rows: &DistinctRows<'_>, batch: &Values<M>, passing: &Passing) -> Mask {
        let mut mask = Mask::new(rows.slots.len());
        self.each_row(rows, batch, |this, row, slot| {
            if rows.ends(row) {
                this.clear_slot(slot as usize);
            } else if passing.passes(row) {
                let value = batch.get(row);
                let probe = value.as_ref().map(|value| value.borrow());
                let delta = rows.delta(row);
                let change = this.update(slot as usize, probe, |tally, fresh| tally.count(0, delta, fresh));
                mask.set(row, change.changed());
            }
        });
        mask
    }

    /// [`Membership::apply`] for any number of filters.
    fn count_all(&mut self, rows: &DistinctRows<'_>, batch: &Values<M>, passing: &[Passing]) -> Vec<Mask> {
        let mut masks: Vec<_> = passing.iter().map(|_| Mask::new(rows.slots.len())).collect();
        self.each_row(rows, batch, |this, row, slot| {
            if rows.ends(row) {
                this.clear_slot(slot as usize);
            } else if passing.iter().any(|filter| filter.passes(row)) {
                let value = batch.get(row);
                let probe = value.as_ref().map(|value| value.borrow());
                let delta = rows.delta(row);
                this.update(slot as usize, probe, |tally, fresh| {
                    for (filter, (passing, mask)) in passing.iter().zip(&mut masks).enumerate() {
                        if passing.passes(row) {
                            mask.set(row, tally.count(filter, delta, fresh).changed());
                        }
                    }
                });
            }
        });
        masks
    }

    /// Members in the order of a Java `HashMap` into which they were put as they came.
    fn in_java_order<'a>(&self, members: &'a SlotMembers<M::Key, T>) -> Vec<(&'a M::Key, &'a T)> {
        let mut members: Vec<_> = members.iter().collect();
        let capacity = java_hash::capacity(members.len());
        members.sort_by_cached_key(|(key, tally)| {
            (java_hash::bucket(M::java_hash((*key).borrow()), capacity), tally.number())
        });
        members
    }

    /// The fields of a member in snapshots.
    fn entry_fields(&self) -> Fields {
        let value = Field::new("value", self.data_type.clone(), true);
        let counts =
            (0..self.filters).map(|filter| Field::new(format!("count{filter}"), DataType::Int64, false));
        std::iter::once(value).chain(counts).collect::<Vec<_>>().into()
    }

    fn clear_slot(&mut self, slot: usize) {
        let slot = std::mem::take(&mut self.slots[slot]);
        let tally = T::heap_size(self.filters);
        let members: usize = slot.members.iter().map(|(key, _)| M::owned(key.borrow()) + tally).sum();
        self.owned -= slot.heap + members;
    }
}

impl<M: Members, T: Tally> Membership for Slots<M, T> {
    fn grow(&mut self, slots: usize) {
        grow_with(&mut self.slots, slots);
    }

    fn clear(&mut self, slots: &[u32]) {
        for &slot in slots {
            self.clear_slot(slot as usize);
        }
    }

    fn apply(
        &mut self,
        rows: &DistinctRows<'_>,
        values: &ArrayRef,
        filters: &[Option<&BooleanArray>],
    ) -> Result<Vec<BooleanArray>> {
        let len = rows.slots.len();
        if values.len() != len
            || filters.len() != self.filters
            || filters.iter().flatten().any(|filter| filter.len() != len)
            || rows.retract.is_some_and(|retract| retract.len() != len)
            || rows.fates.is_some_and(|fates| fates.len() != len)
        {
            return internal_err!("the columns or filters of DISTINCT are not those of its {len} rows");
        }
        let batch = Values::<M> { batch: self.members.batch(values)?, nulls: values.logical_nulls() };
        let passing: Vec<_> = filters.iter().map(|filter| Passing::new(*filter)).collect();
        let masks = match &*passing {
            [passing] => vec![self.count_one(rows, &batch, passing)],
            passing => self.count_all(rows, &batch, passing),
        };
        Ok(masks.into_iter().map(|mask| mask.finish(len)).collect())
    }

    fn state_fields(&self) -> Vec<Field> {
        vec![Field::new("members", list_type(self.entry_fields()), false)]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let mut keys = Vec::new();
        let mut counts = vec![Vec::new(); self.filters];
        let mut lengths = Vec::with_capacity(slots.len());
        for &slot in slots {
            let slot = &self.slots[slot as usize];
            let start = keys.len();
            let members: Box<dyn Iterator<Item = (&M::Key, &T)> + '_> = match T::NUMBERED {
                true => Box::new(self.in_java_order(&slot.members).into_iter()),
                false => slot.members.iter(),
            };
            let members = members.map(|(key, tally)| (Some(key), tally));
            for (key, tally) in members.chain(slot.null.iter().map(|tally| (None, tally))) {
                keys.push(key);
                for (filter, counts) in counts.iter_mut().enumerate() {
                    counts.push(tally.get(filter));
                }
            }
            lengths.push(keys.len() - start);
        }
        let mut columns = vec![self.members.collect(keys.into_iter(), &self.data_type)?];
        columns.extend(counts.into_iter().map(|counts| Arc::new(Int64Array::from(counts)) as ArrayRef));
        Ok(vec![entry_lists(lengths, self.entry_fields(), columns)?])
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<MergedMembers> {
        let lists = EntryLists::new(state, 0)?;
        let values = lists.column(0)?;
        let batch = self.members.batch(values)?;
        let counts = (0..self.filters)
            .map(|filter| i64::values(lists.column(1 + filter)?))
            .collect::<Result<Vec<_>>>()?;
        // a value may become a member for one filter and stop being one for another: two rows
        let (mut row_slots, mut entries, mut retract) = (Vec::new(), Vec::new(), Vec::new());
        let mut masks = vec![Vec::new(); self.filters];
        let mut changes = vec![0; self.filters];
        for (row, &slot) in slots.iter().enumerate() {
            for entry in lists.entries(row) {
                let value = values.is_valid(entry).then(|| M::get(&batch, entry));
                let probe = value.as_ref().map(|value| value.borrow());
                self.update(slot as usize, probe, |tally, fresh| {
                    for (filter, change) in changes.iter_mut().enumerate() {
                        *change = tally.count(filter, counts[filter][entry], fresh).direction();
                    }
                });
                for direction in [1, -1] {
                    if changes.contains(&direction) {
                        row_slots.push(slot);
                        entries.push(entry as u32);
                        retract.push(direction < 0);
                        for (mask, change) in masks.iter_mut().zip(&changes) {
                            mask.push(*change == direction);
                        }
                    }
                }
            }
        }
        let entries = arrow::array::UInt32Array::from(entries);
        Ok(MergedMembers {
            slots: row_slots,
            values: arrow::compute::take(values, &entries, None)?,
            retract,
            masks: masks.into_iter().map(BooleanArray::from).collect(),
        })
    }

    fn memory_size(&self) -> usize {
        vec_size(&self.slots) + self.owned
    }
}
