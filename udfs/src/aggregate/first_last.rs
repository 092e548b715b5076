//! FIRST_VALUE and LAST_VALUE.

use std::borrow::Borrow;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt64Array};
use arrow::datatypes::{DataType, Field, Fields};
use datafusion_common::Result;

use super::arrivals::Arrivals;
use super::cells::{CellState, Cells, Retraction};
use super::column::{Element, grow, grow_with, state_column, vec_size};
use super::entries::{EntryLists, entry_lists, list_type};
use super::members::{Members, dispatch_members};
use super::signature::{one_argument, storage_type};
use super::{AggregateArgs, AggregateKind, AggregateState, StreamingAggregate};

/// `FIRST_VALUE`: the value that came first of those that are not NULL. See [`LastValue`].
#[derive(Debug)]
pub struct FirstValue;

/// `LAST_VALUE`: the value that came last of those that are not NULL, of any type.
///
/// On insert-only input one value is kept per group. With retractions all are, in the order of their
/// arrival; a retraction takes the oldest of equal values, and one of a value that is not there is
/// ignored.
#[derive(Debug)]
pub struct LastValue;

macro_rules! streaming_aggregate {
    ($function:ident, $end:ty, $name:literal) => {
        impl StreamingAggregate for $function {
            fn name(&self) -> &str {
                $name
            }

            fn kind(&self) -> AggregateKind {
                AggregateKind::$function
            }

            fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
                Ok(vec![storage_type(one_argument(<$end>::NAME, arg_types)?).clone()])
            }

            fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
                one_argument(<$end>::NAME, arg_types).cloned()
            }

            fn value_is_state(&self, distinct: bool, _return_type: &DataType) -> bool {
                !distinct
            }

            fn has_small_state(&self) -> bool {
                true
            }

            fn state(&self, args: &AggregateArgs<'_>) -> Result<Box<dyn AggregateState>> {
                dispatch_members!(args.return_type, members => {
                    let ends = Ends::<_, $end>::new(members, args.return_type);
                    if args.retracting {
                        CellState::boxed(RetractableEnds { ends, groups: Vec::new() })
                    } else {
                        CellState::boxed(RunningEnds { ends, groups: Vec::new() })
                    }
                })
            }
        }
    };
}

streaming_aggregate!(FirstValue, First, "first_value");
streaming_aggregate!(LastValue, Last, "last_value");

/// Which end of the order of arrival is looked for.
trait End: Debug + Send + Sync + 'static {
    const NAME: &str;
    const FIRST: bool;
}

#[derive(Debug)]
struct First;

#[derive(Debug)]
struct Last;

impl End for First {
    const NAME: &str = "FIRST_VALUE";
    const FIRST: bool = true;
}

impl End for Last {
    const NAME: &str = "LAST_VALUE";
    const FIRST: bool = false;
}

/// What both states need.
#[derive(Debug)]
struct Ends<M, E> {
    members: M,
    data_type: DataType,
    /// The number of the next value. Numbers order the values of all slots, so that slots can be merged.
    next: u64,
    /// How often the value of a slot has changed.
    changes: u64,
    /// Bytes that the values own.
    owned: usize,
    end: PhantomData<E>,
}

impl<M: Members, E: End> Ends<M, E> {
    fn new(members: M, data_type: &DataType) -> Self {
        Self { members, data_type: data_type.clone(), next: 0, changes: 0, owned: 0, end: PhantomData }
    }

    fn number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// By how much numbers of another state are raised so that its values come behind those of this
    /// one. A state without values takes the numbers as they are.
    fn shift(&mut self, numbers: impl Iterator<Item = u64> + Clone) -> u64 {
        let least = numbers.clone().min().unwrap_or(0);
        let shift = if self.next == 0 { 0 } else { self.next.saturating_sub(least) };
        self.next = self.next.max(numbers.max().map_or(0, |most| most + shift + 1));
        shift
    }

    /// Whether a value with the number `new` takes the place of one with `old`.
    fn replaces(new: u64, old: u64) -> bool {
        if E::FIRST { new < old } else { new >= old }
    }
}

/// The first or last values of groups that lose none.
#[derive(Debug)]
struct RunningEnds<M: Members, E> {
    ends: Ends<M, E>,
    groups: Vec<Option<(u64, M::Key)>>,
}

impl<M: Members, E: End> RunningEnds<M, E> {
    fn set(&mut self, slot: usize, number: u64, probe: &M::Probe) {
        let group = &mut self.groups[slot];
        match group {
            Some((old_number, old)) if (*old).borrow() == probe => *old_number = number,
            _ => {
                self.ends.changes += 1;
                self.ends.owned += M::owned(probe);
                if let Some((_, old)) = group.replace((number, M::key(probe))) {
                    self.ends.owned -= M::owned(old.borrow());
                }
            }
        }
    }

    fn offer(&mut self, slot: usize, number: u64, probe: &M::Probe) {
        if self.groups[slot].as_ref().is_none_or(|(old, _)| Ends::<M, E>::replaces(number, *old)) {
            self.set(slot, number, probe);
        }
    }

    fn key(&self, slot: usize) -> Option<&M::Key> {
        self.groups[slot].as_ref().map(|(_, key)| key)
    }
}

impl<M: Members, E: End> Cells for RunningEnds<M, E> {
    type Args = M::Batch;
    type Value = M::Mark;
    type Output = M::Output;

    const RETRACTION: Retraction = Retraction::Refused;

    fn args(&mut self, args: &[ArrayRef]) -> Result<Self::Args> {
        self.ends.members.batch(state_column(args, 0)?)
    }

    #[inline]
    fn add(&mut self, slot: usize, before: M::Mark, args: &Self::Args, row: usize) -> M::Mark {
        if E::FIRST && self.groups[slot].is_some() {
            return before;
        }
        let number = self.ends.number();
        self.set(slot, number, M::get(args, row).borrow());
        self.value(slot)
    }

    fn retract(&mut self, _: usize, before: M::Mark, _: &Self::Args, _: usize) -> M::Mark {
        before
    }

    #[inline]
    fn value(&self, slot: usize) -> M::Mark {
        M::mark(self.key(slot), self.ends.changes)
    }

    fn output(&self, len: usize) -> Self::Output {
        self.ends.members.output(len)
    }

    #[inline]
    fn put(&self, at: usize, slot: usize, _: M::Mark, output: &mut Self::Output) {
        self.ends.members.put(at, self.key(slot), output);
    }

    fn finish(&self, output: Self::Output) -> Result<ArrayRef> {
        self.ends.members.finish(output, &self.ends.data_type)
    }

    fn grow(&mut self, slots: usize) {
        grow(&mut self.groups, slots);
    }

    fn clear(&mut self, slot: usize) {
        if let Some((_, key)) = self.groups[slot].take() {
            self.ends.owned -= M::owned(key.borrow());
        }
    }

    fn state_fields(&self) -> Vec<Field> {
        vec![
            Field::new("number", DataType::UInt64, true),
            Field::new("value", self.ends.data_type.clone(), true),
        ]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let groups = || slots.iter().map(|&slot| self.groups[slot as usize].as_ref());
        let numbers: UInt64Array = groups().map(|group| group.map(|(number, _)| *number)).collect();
        let keys = groups().map(|group| group.map(|(_, key)| key));
        Ok(vec![Arc::new(numbers), self.ends.members.collect(keys, &self.ends.data_type)?])
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        let numbers = state_column(state, 0)?;
        let number_values = u64::values(numbers)?;
        let values = self.ends.members.batch(state_column(state, 1)?)?;
        let rows = || (0..slots.len()).filter(|&row| numbers.is_valid(row));
        let shift = self.ends.shift(rows().map(|row| number_values[row]));
        for row in rows() {
            let value = M::get(&values, row);
            self.offer(slots[row] as usize, number_values[row] + shift, value.borrow());
        }
        Ok(())
    }

    fn merge_slots(&mut self, into: &[u32], from: &[u32]) -> Result<()> {
        for (&into, &from) in into.iter().zip(from) {
            if let Some((number, key)) = self.groups[from as usize].clone() {
                self.offer(into as usize, number, key.borrow());
            }
        }
        Ok(())
    }

    fn memory_size(&self) -> usize {
        vec_size(&self.groups) + self.ends.owned
    }
}

/// The values of groups that may lose them.
#[derive(Debug)]
struct RetractableEnds<M: Members, E> {
    ends: Ends<M, E>,
    groups: Vec<Arrivals<M::Key>>,
}

impl<M: Members, E: End> RetractableEnds<M, E> {
    fn key(&self, slot: usize) -> Option<&M::Key> {
        let group = &self.groups[slot];
        if E::FIRST { group.first() } else { group.last() }
    }

    /// Changes a group by `change` and counts the bytes it takes.
    fn update<T>(&mut self, slot: usize, change: impl FnOnce(&mut Arrivals<M::Key>) -> T) -> T {
        let group = &mut self.groups[slot];
        let before = group.heap_size();
        let result = change(group);
        self.ends.owned = self.ends.owned + group.heap_size() - before;
        result
    }

    fn insert(&mut self, slot: usize, number: u64, key: M::Key) {
        let before = self.key(slot).cloned();
        self.ends.owned += M::owned(key.borrow());
        self.update(slot, |group| group.insert(number, key));
        self.ends.changes += u64::from(self.key(slot) != before.as_ref());
    }
}

impl<M: Members, E: End> Cells for RetractableEnds<M, E> {
    type Args = M::Batch;
    type Value = M::Mark;
    type Output = M::Output;

    fn args(&mut self, args: &[ArrayRef]) -> Result<Self::Args> {
        self.ends.members.batch(state_column(args, 0)?)
    }

    #[inline]
    fn add(&mut self, slot: usize, _: M::Mark, args: &Self::Args, row: usize) -> M::Mark {
        let value = M::get(args, row);
        let probe = value.borrow();
        let number = self.ends.number();
        let kept = match self.key(slot) {
            Some(_) if E::FIRST => true,
            Some(last) => (*last).borrow() == probe,
            None => false,
        };
        self.ends.changes += u64::from(!kept);
        self.ends.owned += M::owned(probe);
        self.update(slot, |group| group.insert(number, M::key(probe)));
        self.value(slot)
    }

    #[inline]
    fn retract(&mut self, slot: usize, before: M::Mark, args: &Self::Args, row: usize) -> M::Mark {
        let value = M::get(args, row);
        let Some((taken, key)) = self.update(slot, |group| group.take_oldest(value.borrow())) else {
            return before;
        };
        self.ends.owned -= M::owned(value.borrow());
        let lost = if E::FIRST { taken.first } else { taken.last };
        self.ends.changes += u64::from(lost && self.key(slot) != Some(&key));
        self.value(slot)
    }

    #[inline]
    fn value(&self, slot: usize) -> M::Mark {
        M::mark(self.key(slot), self.ends.changes)
    }

    fn output(&self, len: usize) -> Self::Output {
        self.ends.members.output(len)
    }

    #[inline]
    fn put(&self, at: usize, slot: usize, _: M::Mark, output: &mut Self::Output) {
        self.ends.members.put(at, self.key(slot), output);
    }

    fn finish(&self, output: Self::Output) -> Result<ArrayRef> {
        self.ends.members.finish(output, &self.ends.data_type)
    }

    fn grow(&mut self, slots: usize) {
        grow_with(&mut self.groups, slots);
    }

    fn clear(&mut self, slot: usize) {
        let group = std::mem::take(&mut self.groups[slot]);
        let text: usize = group.iter().map(|(_, key)| M::owned(key.borrow())).sum();
        self.ends.owned -= group.heap_size() + text;
    }

    fn state_fields(&self) -> Vec<Field> {
        vec![Field::new("values", list_type(self.entry_fields()), false)]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let (mut numbers, mut keys, mut lengths) = (Vec::new(), Vec::new(), Vec::with_capacity(slots.len()));
        for &slot in slots {
            let start = keys.len();
            for (number, key) in self.groups[slot as usize].iter() {
                numbers.push(number);
                keys.push(Some(key));
            }
            lengths.push(keys.len() - start);
        }
        let numbers: ArrayRef = Arc::new(UInt64Array::from(numbers));
        let values = self.ends.members.collect(keys.into_iter(), &self.ends.data_type)?;
        Ok(vec![entry_lists(lengths, self.entry_fields(), vec![numbers, values])?])
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        let lists = EntryLists::new(state, 0)?;
        let numbers = u64::values(lists.column(0)?)?;
        let values = self.ends.members.batch(lists.column(1)?)?;
        let entries = || (0..slots.len()).flat_map(|row| lists.entries(row).map(move |entry| (row, entry)));
        let shift = self.ends.shift(entries().map(|(_, entry)| numbers[entry]));
        for (row, entry) in entries() {
            let value = M::get(&values, entry);
            self.insert(slots[row] as usize, numbers[entry] + shift, M::key(value.borrow()));
        }
        Ok(())
    }

    fn merge_slots(&mut self, into: &[u32], from: &[u32]) -> Result<()> {
        for (&into, &from) in into.iter().zip(from) {
            let values: Vec<_> =
                self.groups[from as usize].iter().map(|(number, key)| (number, key.clone())).collect();
            for (number, key) in values {
                self.insert(into as usize, number, key);
            }
        }
        Ok(())
    }

    fn memory_size(&self) -> usize {
        vec_size(&self.groups) + self.ends.owned
    }
}

impl<M: Members, E: End> RetractableEnds<M, E> {
    /// The fields of a value in snapshots.
    fn entry_fields(&self) -> Fields {
        Fields::from(vec![
            Field::new("number", DataType::UInt64, false),
            Field::new("value", self.ends.data_type.clone(), false),
        ])
    }
}
