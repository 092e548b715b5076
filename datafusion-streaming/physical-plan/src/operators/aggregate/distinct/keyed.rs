//! Distinct values of any columns, with a time to live each.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, ListArray, StructArray, UInt32Array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Fields, Int64Type};
use datafusion_common::{Result, internal_datafusion_err};
use datafusion_streaming_udfs::aggregate::{DistinctRows, Fate};

use super::MergedValues;
use crate::state::{KeyInterner, distinct_where};

/// The values in every group, all of them in one table of keys.
///
/// ```text
///   (group, value) ── interner ──▶ member      counts[member * filters + filter]
///   heads[group] ──▶ member ──▶ member ──▶ …   so that a group that ends gives its values back
/// ```
#[derive(Debug)]
pub(super) struct KeyedValues {
    /// The number of columns of a value.
    width: usize,
    filters: usize,
    /// The fields of a member in a snapshot.
    fields: Fields,
    retracting: bool,
    /// The time to live of a member in milliseconds; 0: for ever.
    ttl: i64,
    members: KeyInterner,
    counts: Vec<i64>,
    /// The last write of each member, kept with a time to live only.
    written: Vec<i64>,
    /// The group of each member, [`NONE`] where the member is not in use.
    owners: Vec<u32>,
    /// The members before and behind each in the list of its group.
    links: Vec<[u32; 2]>,
    /// The newest member of each group.
    heads: Vec<u32>,
}

/// No member, or no group.
const NONE: u32 = u32::MAX;

impl KeyedValues {
    /// For values of these types under so many filters.
    pub(super) fn try_new(types: &[DataType], filters: usize, retracting: bool, ttl: i64) -> Result<Self> {
        let keys: Vec<_> = std::iter::once(DataType::UInt32).chain(types.iter().cloned()).collect();
        let values = types
            .iter()
            .cloned()
            .enumerate()
            .map(|(n, data_type)| Field::new(format!("value{n}"), data_type, true));
        let counts = (0..filters).map(|n| Field::new(format!("count{n}"), DataType::Int64, false));
        let written = Field::new("written", DataType::Int64, false);
        Ok(KeyedValues {
            fields: values.chain(counts).chain([written]).collect(),
            members: KeyInterner::try_new(&keys)?,
            width: types.len(),
            filters,
            retracting,
            ttl,
            counts: vec![],
            written: vec![],
            owners: vec![],
            links: vec![],
            heads: vec![],
        })
    }

    pub(super) fn grow(&mut self, slots: usize) {
        if slots > self.heads.len() {
            self.heads.resize(slots, NONE);
        }
    }

    /// Counts values row by row, and returns which rows pass on, for each filter.
    pub(super) fn observe(
        &mut self,
        rows: &DistinctRows<'_>,
        values: Vec<ArrayRef>,
        filters: &[Option<&BooleanArray>],
        now: i64,
    ) -> Result<Vec<BooleanArray>> {
        let DistinctRows { slots, retract, fates } = *rows;
        let members = self.intern(slots, values)?;
        let width = filters.len();
        let mut passing = vec![vec![false; slots.len()]; width];
        if let (false, 0, [None]) = (self.retracting, self.ttl, filters) {
            for (passes, member) in passing[0].iter_mut().zip(&members) {
                let count = &mut self.counts[*member as usize];
                *passes = *count == 0;
                *count = 1;
            }
            return Ok(passing.into_iter().map(BooleanArray::from).collect());
        }

        let mut absent = vec![];
        for (row, member) in members.iter().enumerate() {
            self.expire(*member, now);
            let counts = &mut self.counts[*member as usize * width..][..width];
            let retraction = retract.is_some_and(|retract| retract[row]);
            let mut written = false;
            for (number, count) in counts.iter_mut().enumerate() {
                if filters[number].is_some_and(|filter| !(filter.is_valid(row) && filter.value(row))) {
                    continue;
                }
                passing[number][row] = *count == i64::from(retraction);
                // without retractions it is enough to know that the value has come
                let counted = self.retracting || *count == 0;
                *count += if retraction { -1 } else { i64::from(counted) };
                written |= counted;
            }
            if counts.iter().all(|count| *count == 0) {
                absent.push(*member);
            }
            if written && self.ttl > 0 {
                self.written[*member as usize] = now;
            }
            if fates.is_some_and(|fates| fates[row] == Fate::Last) {
                self.forget(slots[row], &mut absent);
            }
        }
        self.release(absent);
        Ok(passing.into_iter().map(BooleanArray::from).collect())
    }

    /// The member of each row; new ones are put into the lists of their groups.
    fn intern(&mut self, slots: &[u32], values: Vec<ArrayRef>) -> Result<Vec<u32>> {
        let groups: ArrayRef = Arc::new(UInt32Array::from(slots.to_vec()));
        let keys: Vec<ArrayRef> = std::iter::once(groups).chain(values).collect();
        let mut members = vec![];
        self.members.intern(&keys, slots.len(), &mut members)?;
        let room = self.members.slots();
        self.counts.resize(room * self.filters, 0);
        self.owners.resize(room, NONE);
        self.links.resize(room, [NONE; 2]);
        if self.ttl > 0 {
            self.written.resize(room, 0);
        }
        for (member, slot) in members.iter().zip(slots) {
            let owner = &mut self.owners[*member as usize];
            if *owner == NONE {
                *owner = *slot;
                let head = std::mem::replace(&mut self.heads[*slot as usize], *member);
                self.links[*member as usize] = [NONE, head];
                if head != NONE {
                    self.links[head as usize][0] = *member;
                }
            }
        }
        Ok(members)
    }

    /// A member whose time to live is over reads as absent.
    fn expire(&mut self, member: u32, now: i64) {
        let member = member as usize;
        if self.ttl > 0 && self.written[member].saturating_add(self.ttl) <= now {
            let width = self.filters;
            self.counts[member * width..][..width].fill(0);
        }
    }

    /// The members of a group, the oldest first.
    fn of_group(&self, slot: u32) -> Vec<u32> {
        let mut members = vec![];
        let mut member = self.heads[slot as usize];
        while member != NONE {
            members.push(member);
            member = self.links[member as usize][1];
        }
        members.reverse();
        members
    }

    /// Forgets the counts of a group, whose members are then absent.
    fn forget(&mut self, slot: u32, absent: &mut Vec<u32>) {
        let width = self.filters;
        let members = self.of_group(slot);
        for member in &members {
            self.counts[*member as usize * width..][..width].fill(0);
        }
        absent.extend(members);
    }

    /// Gives back the members without counts.
    fn release(&mut self, absent: Vec<u32>) {
        let width = self.filters;
        let absent = distinct_where(absent, |member| {
            self.owners[member as usize] != NONE
                && self.counts[member as usize * width..][..width].iter().all(|count| *count == 0)
        });
        for member in &absent {
            let owner = std::mem::replace(&mut self.owners[*member as usize], NONE);
            let [newer, older] = std::mem::replace(&mut self.links[*member as usize], [NONE; 2]);
            match newer {
                NONE => self.heads[owner as usize] = older,
                newer => self.links[newer as usize][1] = older,
            }
            if older != NONE {
                self.links[older as usize][0] = newer;
            }
        }
        self.members.release(&absent);
    }

    /// Clears groups.
    pub(super) fn clear(&mut self, slots: &[u32]) {
        let mut absent = vec![];
        for slot in slots {
            self.forget(*slot, &mut absent);
        }
        self.release(absent);
    }

    /// Gives back the members whose time to live is over.
    pub(super) fn sweep(&mut self, now: i64) {
        let members: Vec<u32> = (0..self.owners.len() as u32).collect();
        members.iter().for_each(|member| self.expire(*member, now));
        self.release(members);
    }

    /// The field of [`KeyedValues::snapshot`].
    pub(super) fn state_field(&self) -> Field {
        let member = Field::new("item", DataType::Struct(self.fields.clone()), false);
        Field::new("members", DataType::List(Arc::new(member)), false)
    }

    /// The members of each of these groups, as a list.
    pub(super) fn snapshot(&self, slots: &[u32]) -> Result<ArrayRef> {
        let groups: Vec<Vec<u32>> = slots.iter().map(|slot| self.of_group(*slot)).collect();
        let members = groups.concat();
        let mut columns = self.members.columns(&members)?;
        columns.remove(0);
        let width = self.filters;
        for number in 0..width {
            let counts = members.iter().map(|member| self.counts[*member as usize * width + number]);
            columns.push(Arc::new(Int64Array::from_iter_values(counts)));
        }
        let written =
            members.iter().map(|member| self.written.get(*member as usize).copied().unwrap_or_default());
        columns.push(Arc::new(Int64Array::from_iter_values(written)));
        let values = StructArray::try_new_with_length(self.fields.clone(), columns, None, members.len())?;
        let item = Arc::new(Field::new("item", DataType::Struct(self.fields.clone()), false));
        let offsets = OffsetBuffer::from_lengths(groups.iter().map(Vec::len));
        Ok(Arc::new(ListArray::try_new(item, offsets, Arc::new(values), None)?))
    }

    /// The groups, values, counts and times in a snapshot, a row for each member.
    fn flatten(&self, slots: &[u32], saved: &ArrayRef) -> Result<Flat> {
        let wrong = || internal_datafusion_err!("the state of distinct values has another form");
        let list = saved.as_list_opt::<i32>().ok_or_else(wrong)?;
        let mut groups = vec![];
        for (row, slot) in slots.iter().enumerate() {
            groups.resize(groups.len() + list.value_length(row) as usize, *slot);
        }
        let first = list.offsets().first().map_or(0, |first| *first as usize);
        let members = list.values().slice(first, groups.len());
        let mut columns = members.as_struct_opt().ok_or_else(wrong)?.columns().to_vec();
        let mut numbers = columns.split_off(self.width).into_iter().map(|column| {
            column.as_primitive_opt::<Int64Type>().map(|numbers| numbers.values().to_vec()).ok_or_else(wrong)
        });
        let counts = numbers.by_ref().take(self.filters).collect::<Result<_>>()?;
        let written = numbers.next().transpose()?;
        Ok(Flat { groups, values: columns, counts, written })
    }

    /// Takes back members saved by [`KeyedValues::snapshot`].
    pub(super) fn restore(&mut self, slots: &[u32], saved: &ArrayRef) -> Result<()> {
        let flat = self.flatten(slots, saved)?;
        let width = self.filters;
        let members = self.intern(&flat.groups, flat.values)?;
        for (row, member) in members.iter().enumerate() {
            for (number, counts) in flat.counts.iter().enumerate() {
                self.counts[*member as usize * width + number] += counts[row];
            }
            if let (true, Some(written)) = (self.ttl > 0, &flat.written) {
                self.written[*member as usize] = written[row];
            }
        }
        Ok(())
    }

    /// Adds the members of partial states, and tells what that means for the calls.
    pub(super) fn merge(&mut self, slots: &[u32], partial: &ArrayRef, now: i64) -> Result<MergedValues> {
        let flat = self.flatten(slots, partial)?;
        let width = self.filters;
        let rows = flat.groups.len();
        let mut passing = vec![(vec![false; rows], vec![false; rows]); width];
        let members = self.intern(&flat.groups, flat.values.clone())?;
        for (row, member) in members.iter().enumerate() {
            self.expire(*member, now);
            for (number, counts) in flat.counts.iter().enumerate() {
                let count = &mut self.counts[*member as usize * width + number];
                let was = *count > 0;
                *count += counts[row];
                let (passes, retract) = &mut passing[number];
                passes[row] = was != (*count > 0);
                retract[row] = was && passes[row];
            }
            if self.ttl > 0 {
                self.written[*member as usize] = now;
            }
        }
        self.release(members);
        let passing =
            passing.into_iter().map(|(passes, retract)| (BooleanArray::from(passes), retract)).collect();
        Ok(MergedValues { slots: flat.groups, values: flat.values, passing })
    }

    pub(super) fn memory_size(&self) -> usize {
        self.members.memory_size()
            + (self.counts.capacity() + self.written.capacity() + self.links.capacity()) * size_of::<i64>()
            + (self.owners.capacity() + self.heads.capacity()) * size_of::<u32>()
    }
}

/// Members, a row each.
struct Flat {
    groups: Vec<u32>,
    values: Vec<ArrayRef>,
    counts: Vec<Vec<i64>>,
    /// Not known of partial states.
    written: Option<Vec<i64>>,
}
