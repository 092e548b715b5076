//! Aggregates that keep all values of a group in the order of their arrival and show them as one.

use std::borrow::Borrow;
use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, Fields};
use datafusion_common::{Result, internal_datafusion_err};

use super::cells::Cells;
use super::column::{grow_with, state_column, vec_size};
use super::entries::{EntryLists, entry_lists, list_type};
use super::members::Members;

/// The values of a group.
#[derive(Debug)]
pub(super) struct List<K> {
    pub(super) values: Vec<Option<K>>,
    /// Values that were taken and are not there. They only count when states are merged: then they
    /// take values that the other state has.
    debts: Vec<Option<K>>,
    /// How many of the values are not equal to themselves.
    unequal: usize,
}

impl<K> Default for List<K> {
    fn default() -> Self {
        Self { values: Vec::new(), debts: Vec::new(), unequal: 0 }
    }
}

/// How the values of a group are shown.
pub(super) trait Form<M: Members>: Debug + Send + Sync + 'static {
    /// Results on their way into an array.
    type Output;

    /// Whether a result with a value that does not equal itself does not equal itself either.
    const BY_VALUE: bool;

    /// The values of a batch.
    fn values(&mut self, args: &[ArrayRef]) -> Result<ArrayRef>;

    /// Whether NULLs are values.
    fn takes_nulls(&self) -> bool;

    /// An output of about `len` results.
    fn output(&self, members: &M, len: usize) -> Self::Output;

    /// Appends the result of a list.
    fn push(&self, members: &M, list: &List<M::Key>, output: &mut Self::Output);

    fn finish(&self, members: &M, output: Self::Output) -> Result<ArrayRef>;

    /// Whether a value shows in the result: adding or taking it changes the result. `others`: it is not
    /// the only value.
    fn shows(&self, _: Option<&M::Key>, _: bool) -> bool {
        true
    }

    /// What the form has learnt from arguments, for snapshots.
    fn learnt(&self) -> Option<&str> {
        None
    }

    /// Takes over what the form of a snapshot had learnt.
    fn learn(&mut self, _: &str) {}
}

/// The values of all groups, and their form.
#[derive(Debug)]
pub(super) struct Lists<M: Members, F> {
    members: M,
    form: F,
    /// The type of the values.
    data_type: DataType,
    lists: Vec<List<M::Key>>,
    /// How often a list has changed.
    changes: u64,
    /// Bytes that the lists own.
    owned: usize,
}

/// The mark of a list: the number of changes, and whether the list equals itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListMark {
    changes: u64,
    equals_itself: bool,
}

impl PartialEq for ListMark {
    fn eq(&self, other: &Self) -> bool {
        self.equals_itself && other.equals_itself && self.changes == other.changes
    }
}

impl<M: Members, F: Form<M>> Lists<M, F> {
    /// Lists of values of `data_type`.
    pub(super) fn new(members: M, form: F, data_type: &DataType) -> Self {
        Self { members, form, data_type: data_type.clone(), lists: Vec::new(), changes: 0, owned: 0 }
    }

    fn unequal(value: Option<&M::Key>) -> usize {
        usize::from(!value.is_some_and(M::equals_itself))
    }

    fn size(value: Option<&M::Key>) -> usize {
        value.map_or(0, |key| M::owned(key.borrow()))
    }

    /// Changes a list and counts the bytes that it takes, without those of its values.
    fn update<T>(&mut self, slot: usize, change: impl FnOnce(&mut List<M::Key>) -> T) -> T {
        let list = &mut self.lists[slot];
        let size = |list: &List<M::Key>| vec_size(&list.values) + vec_size(&list.debts);
        let before = size(list);
        let result = change(list);
        self.owned = self.owned + size(list) - before;
        result
    }

    fn append(&mut self, slot: usize, value: Option<M::Key>) {
        self.owned += Self::size(value.as_ref());
        let others = !self.lists[slot].values.is_empty();
        self.changes += u64::from(self.form.shows(value.as_ref(), others));
        self.update(slot, |list| {
            list.unequal += Self::unequal(value.as_ref());
            list.values.push(value);
        });
    }

    /// Takes the first of equal values. Returns whether there was one.
    fn take(&mut self, slot: usize, probe: Option<&M::Probe>) -> bool {
        let list = &self.lists[slot];
        let Some(at) = list.values.iter().position(|value| value.as_ref().map(|key| key.borrow()) == probe)
        else {
            return false;
        };
        let value = self.update(slot, |list| {
            let value = list.values.remove(at);
            list.unequal -= Self::unequal(value.as_ref());
            if list.values.is_empty() {
                list.values = Vec::new();
            }
            value
        });
        self.owned -= Self::size(value.as_ref());
        let others = !self.lists[slot].values.is_empty();
        self.changes += u64::from(self.form.shows(value.as_ref(), others));
        true
    }

    fn owe(&mut self, slot: usize, value: Option<M::Key>) {
        self.owned += Self::size(value.as_ref());
        self.update(slot, |list| list.debts.push(value));
    }

    /// Takes the values that are owed, where they are there now.
    fn settle(&mut self, slot: usize) {
        let debts = self.update(slot, |list| std::mem::take(&mut list.debts));
        for debt in debts {
            self.owned -= Self::size(debt.as_ref());
            if !self.take(slot, debt.as_ref().map(|key| key.borrow())) {
                self.owe(slot, debt);
            }
        }
    }

    /// Adds the values and debts of another state.
    fn add_lists(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        let lists = EntryLists::new(state, 0)?;
        let values = lists.column(0)?;
        let values = ListArgs::<M> { batch: self.members.batch(values)?, nulls: values.logical_nulls() };
        let debts = lists.column(1)?.as_boolean();
        let form = state_column(state, 1)?.as_string_opt::<i32>();
        let form = form.ok_or_else(|| internal_datafusion_err!("a snapshot of lists lacks their form"))?;
        if let Some(learnt) = form.iter().flatten().next() {
            self.form.learn(learnt);
        }
        for (row, &slot) in slots.iter().enumerate() {
            for entry in lists.entries(row) {
                let key = values.get(entry).map(|value| M::key(value.borrow()));
                match debts.value(entry) {
                    true => self.owe(slot as usize, key),
                    false => self.append(slot as usize, key),
                }
            }
        }
        Ok(())
    }

    /// The fields of a value in snapshots.
    fn entry_fields(&self) -> Fields {
        Fields::from(vec![
            Field::new("value", self.data_type.clone(), true),
            Field::new("debt", DataType::Boolean, false),
        ])
    }
}

/// The values of a batch, ready for access by row.
pub(super) struct ListArgs<M: Members> {
    batch: M::Batch,
    nulls: Option<NullBuffer>,
}

impl<M: Members> ListArgs<M> {
    fn get(&self, row: usize) -> Option<M::Borrowed<'_>> {
        let valid = self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        valid.then(|| M::get(&self.batch, row))
    }
}

impl<M: Members, F: Form<M>> Cells for Lists<M, F> {
    type Args = ListArgs<M>;
    type Value = ListMark;
    type Output = F::Output;

    fn args(&mut self, args: &[ArrayRef]) -> Result<ListArgs<M>> {
        let values = self.form.values(args)?;
        Ok(ListArgs { batch: self.members.batch(&values)?, nulls: values.logical_nulls() })
    }

    fn taken(&self, args: &[ArrayRef]) -> Option<NullBuffer> {
        if self.form.takes_nulls() { None } else { args.first()?.logical_nulls() }
    }

    fn add(&mut self, slot: usize, _: ListMark, args: &ListArgs<M>, row: usize) -> ListMark {
        self.append(slot, args.get(row).map(|value| M::key(value.borrow())));
        self.value(slot)
    }

    fn retract(&mut self, slot: usize, _: ListMark, args: &ListArgs<M>, row: usize) -> ListMark {
        let value = args.get(row);
        let probe = value.as_ref().map(|value| value.borrow());
        if !self.take(slot, probe) {
            self.owe(slot, probe.map(M::key));
        }
        self.value(slot)
    }

    fn value(&self, slot: usize) -> ListMark {
        ListMark { changes: self.changes, equals_itself: !F::BY_VALUE || self.lists[slot].unequal == 0 }
    }

    fn output(&self, len: usize) -> F::Output {
        self.form.output(&self.members, len)
    }

    fn put(&self, _: usize, slot: usize, _: ListMark, output: &mut F::Output) {
        self.form.push(&self.members, &self.lists[slot], output);
    }

    fn finish(&self, output: F::Output) -> Result<ArrayRef> {
        self.form.finish(&self.members, output)
    }

    fn grow(&mut self, slots: usize) {
        grow_with(&mut self.lists, slots);
    }

    fn clear(&mut self, slot: usize) {
        let list = self.update(slot, std::mem::take);
        let values = list.values.iter().chain(&list.debts);
        self.owned -= values.map(|value| Self::size(value.as_ref())).sum::<usize>();
    }

    fn state_fields(&self) -> Vec<Field> {
        vec![
            Field::new("values", list_type(self.entry_fields()), false),
            Field::new("form", DataType::Utf8, true),
        ]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let (mut keys, mut debts, mut lengths) = (Vec::new(), Vec::new(), Vec::with_capacity(slots.len()));
        for &slot in slots {
            let list = &self.lists[slot as usize];
            keys.extend(list.values.iter().chain(&list.debts).map(Option::as_ref));
            debts.extend(std::iter::repeat_n(false, list.values.len()));
            debts.extend(std::iter::repeat_n(true, list.debts.len()));
            lengths.push(list.values.len() + list.debts.len());
        }
        let values = self.members.collect(keys.into_iter(), &self.data_type)?;
        let debts: ArrayRef = Arc::new(BooleanArray::from(debts));
        let form = arrow::array::StringArray::from_iter(std::iter::repeat_n(self.form.learnt(), slots.len()));
        Ok(vec![entry_lists(lengths, self.entry_fields(), vec![values, debts])?, Arc::new(form)])
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        self.add_lists(slots, state)?;
        slots.iter().for_each(|&slot| self.settle(slot as usize));
        Ok(())
    }

    fn restore(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        self.add_lists(slots, state)
    }

    fn memory_size(&self) -> usize {
        vec_size(&self.lists) + self.owned
    }
}
