//! MIN and MAX of values that leave in the order in which they came, as those of an OVER frame do.
//!
//! ```text
//!   MAX of   5  3  4  1        kept: 5 (first), 4 (third), 1 (fourth): the 3 leaves before the greater 4
//!   5 leaves                   kept: 4, 1
//! ```

use std::borrow::Borrow;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::{DataType, Field, Fields};
use datafusion_common::Result;

use super::cells::Cells;
use super::column::{Element, grow_with, state_column, vec_size};
use super::entries::{EntryLists, entry_lists, list_type, numbered_value};
use super::members::Members;
use super::min_max::Extreme;

/// One group: the values that are the extreme of those that leave after them, from the extreme of all on.
#[derive(Debug)]
struct Queue<K> {
    /// With the number of each value, counted from the first that ever came.
    values: VecDeque<(i64, K)>,
    come: i64,
    gone: i64,
}

impl<K> Default for Queue<K> {
    fn default() -> Self {
        Self { values: VecDeque::new(), come: 0, gone: 0 }
    }
}

/// The extremes of values that leave in the order in which they came.
#[derive(Debug)]
pub(super) struct FrameExtremes<M: Members, X> {
    members: M,
    data_type: DataType,
    groups: Vec<Queue<M::Key>>,
    /// Bytes that the groups own.
    owned: usize,
    /// How often a group has got another extreme.
    changes: u64,
    extreme: PhantomData<X>,
}

impl<M: Members, X: Extreme> FrameExtremes<M, X> {
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

    /// Adds a value, which is the last of so many.
    #[inline]
    fn push(&mut self, slot: usize, number: i64, probe: &M::Probe) {
        let group = &mut self.groups[slot];
        let room = group.values.capacity();
        while let Some((_, last)) = group.values.back()
            && !X::beats(last.borrow(), probe)
        {
            self.owned -= M::owned(last.borrow());
            group.values.pop_back();
        }
        self.changes += u64::from(group.values.is_empty());
        group.values.push_back((number, M::key(probe)));
        self.owned += M::owned(probe) + (group.values.capacity() - room) * size_of::<(i64, M::Key)>();
    }

    fn extreme(&self, slot: usize) -> Option<&M::Key> {
        self.groups[slot].values.front().map(|(_, value)| value)
    }

    /// The fields of a value in snapshots: it is kept until so many more have gone.
    fn entry_fields(&self) -> Fields {
        numbered_value(&self.data_type, "before")
    }
}

impl<M: Members, X: Extreme> Cells for FrameExtremes<M, X> {
    type Args = M::Batch;
    type Value = M::Mark;
    type Output = M::Output;

    fn args(&mut self, args: &[ArrayRef]) -> Result<Self::Args> {
        self.members.batch(state_column(args, 0)?)
    }

    #[inline]
    fn add(&mut self, slot: usize, _: M::Mark, args: &Self::Args, row: usize) -> M::Mark {
        let value = M::get(args, row);
        let number = self.groups[slot].come;
        self.groups[slot].come += 1;
        self.push(slot, number, value.borrow());
        self.value(slot)
    }

    #[inline]
    fn retract(&mut self, slot: usize, before: M::Mark, _: &Self::Args, _: usize) -> M::Mark {
        let group = &mut self.groups[slot];
        if group.gone >= group.come {
            return before;
        }
        group.gone += 1;
        if let Some((number, first)) = group.values.front()
            && *number < group.gone
        {
            self.owned -= M::owned(first.borrow());
            group.values.pop_front();
            self.changes += 1;
        }
        self.value(slot)
    }

    #[inline(always)]
    fn value(&self, slot: usize) -> M::Mark {
        M::mark(self.extreme(slot), self.changes)
    }

    fn output(&self, len: usize) -> Self::Output {
        self.members.output(len)
    }

    #[inline(always)]
    fn put(&self, at: usize, slot: usize, _: M::Mark, output: &mut Self::Output) {
        self.members.put(at, self.extreme(slot), output);
    }

    fn finish(&self, output: Self::Output) -> Result<ArrayRef> {
        self.members.finish(output, &self.data_type)
    }

    fn grow(&mut self, slots: usize) {
        grow_with(&mut self.groups, slots);
    }

    fn clear(&mut self, slot: usize) {
        let group = std::mem::take(&mut self.groups[slot]);
        let text = group.values.iter().map(|(_, value)| M::owned(value.borrow())).sum::<usize>();
        self.owned -= text + group.values.capacity() * size_of::<(i64, M::Key)>();
    }

    fn state_fields(&self) -> Vec<Field> {
        vec![
            Field::new("rows", DataType::Int64, false),
            Field::new("values", list_type(self.entry_fields()), false),
        ]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let groups = || slots.iter().map(|&slot| &self.groups[slot as usize]);
        let rows: ArrayRef =
            Arc::new(Int64Array::from_iter_values(groups().map(|group| group.come - group.gone)));
        let lengths = groups().map(|group| group.values.len()).collect();
        let entries = || groups().flat_map(|group| group.values.iter().map(move |entry| (group.gone, entry)));
        let keys: Vec<_> = entries().map(|(_, (_, value))| Some(value)).collect();
        let keys = self.members.collect(keys.into_iter(), &self.data_type)?;
        let before = entries().map(|(gone, (number, _))| number - gone);
        let before: ArrayRef = Arc::new(Int64Array::from_iter_values(before));
        Ok(vec![rows, entry_lists(lengths, self.entry_fields(), vec![keys, before])?])
    }

    /// The values of the other state come behind those that are there.
    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        let rows = i64::values(state_column(state, 0)?)?;
        let lists = EntryLists::new(state, 1)?;
        let keys = self.members.batch(lists.column(0)?)?;
        let before = i64::values(lists.column(1)?)?;
        for (row, &slot) in slots.iter().enumerate() {
            let slot = slot as usize;
            let first = self.groups[slot].come;
            for entry in lists.entries(row) {
                self.push(slot, first + before[entry], M::get(&keys, entry).borrow());
            }
            self.groups[slot].come += rows[row];
        }
        Ok(())
    }

    fn memory_size(&self) -> usize {
        vec_size(&self.groups) + self.owned
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, Float64Array, StringArray};

    use super::super::{
        AggregateArgs, AggregateState, Fate, Fold, Max, Min, OutputLayout, Rows, StreamingAggregate,
    };
    use super::*;

    fn state(
        function: &dyn StreamingAggregate,
        data_type: &DataType,
        in_order: bool,
    ) -> Box<dyn AggregateState> {
        let args = AggregateArgs {
            arg_types: std::slice::from_ref(data_type),
            return_type: data_type,
            retracting: true,
            in_order,
            ignore_nulls: false,
        };
        let mut state = function.state(&args).unwrap();
        state.grow(2);
        state
    }

    /// Rows of two groups, each of which keeps the last three: values, groups, and which are taken back.
    fn sliding() -> (Vec<usize>, Vec<u32>, Vec<bool>) {
        let (mut rows, mut slots, mut retract): (Vec<usize>, Vec<u32>, Vec<bool>) = (vec![], vec![], vec![]);
        let mut frames = [VecDeque::new(), VecDeque::new()];
        let mut number = 7;
        for step in 0..200 {
            number = (number * 48_271) % 2_147_483_647_usize;
            let (slot, row) = (number / 64 % 2, number % 9);
            frames[slot].push_back(row);
            if frames[slot].len() > 3 + step % 4 {
                while frames[slot].len() > 2 {
                    rows.extend(frames[slot].pop_front());
                    slots.push(slot as u32);
                    retract.push(true);
                }
            }
            rows.push(row);
            slots.push(slot as u32);
            retract.push(false);
        }
        (rows, slots, retract)
    }

    #[test]
    fn they_are_those_of_any_retractions() {
        let numbers =
            [Some(1.5), None, Some(-0.0), Some(0.0), Some(f64::NAN), Some(-7.0), Some(8.0), None, Some(1.5)];
        let numbers: ArrayRef = Arc::new(Float64Array::from(numbers.to_vec()));
        let texts =
            [Some("b"), None, Some(""), Some("a"), Some("\u{1F600}"), Some("ab"), Some("c"), None, Some("b")];
        let texts: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        let functions: [&dyn StreamingAggregate; 2] = [&Min, &Max];
        for (function, values) in
            functions.into_iter().flat_map(|function| [(function, &numbers), (function, &texts)])
        {
            let (rows, slots, retract) = sliding();
            let mut any = state(function, values.data_type(), false);
            let mut queue = state(function, values.data_type(), true);
            for start in (0..rows.len()).step_by(23) {
                let part = start..(start + 23).min(rows.len());
                let indices: arrow::array::UInt32Array =
                    rows[part.clone()].iter().map(|row| Some(*row as u32)).collect();
                let args = [arrow::compute::take(values, &indices, None).unwrap()];
                let rows =
                    Rows { slots: &slots[part.clone()], retract: Some(&retract[part.clone()]), filter: None };
                let fates = vec![Fate::Update; part.len()];
                let fold = Fold { rows, fates: &fates, layout: OutputLayout::Pairs };
                let mut changed = [vec![false; part.len()], vec![false; part.len()]];
                let expected = any.fold(&fold, &args, &mut changed[0]).unwrap();
                assert_eq!(&queue.fold(&fold, &args, &mut changed[1]).unwrap(), &expected);
                let saved = queue.snapshot(&[1, 0]).unwrap();
                queue = state(function, values.data_type(), true);
                queue.restore(&[1, 0], &saved).unwrap();
            }
            let used = queue.memory_size();
            queue.clear(&[0, 1]);
            assert!(queue.memory_size() < used);
            assert_eq!(queue.evaluate(&[0, 1]).unwrap().null_count(), 2);
        }
    }
}
