//! SINGLE_VALUE.

use std::borrow::Borrow;
use std::fmt::Debug;

use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field};
use datafusion_common::{Result, exec_err};

use super::cells::{CellState, Cells};
use super::column::Element;
use super::column::{gather_counts, grow, state_column, vec_size};
use super::members::{Members, dispatch_members};
use super::signature::{one_argument, storage_type};
use super::{AggregateArgs, AggregateKind, AggregateState, StreamingAggregate};

/// `SINGLE_VALUE`: the value of the one row of a scalar subquery. A second row that lives at the same
/// time fails the query, also one with a NULL.
#[derive(Debug)]
pub struct SingleValue;

impl StreamingAggregate for SingleValue {
    fn name(&self) -> &str {
        "single_value"
    }

    fn kind(&self) -> AggregateKind {
        AggregateKind::SingleValue
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(vec![storage_type(one_argument("SINGLE_VALUE", arg_types)?).clone()])
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        one_argument("SINGLE_VALUE", arg_types).cloned()
    }

    fn state(&self, args: &AggregateArgs<'_>) -> Result<Box<dyn AggregateState>> {
        dispatch_members!(args.return_type, members => CellState::boxed(SingleValues {
            members,
            data_type: args.return_type.clone(),
            values: Vec::new(),
            counts: Vec::new(),
            owned: 0,
            changes: 0,
            failed: false,
        }))
    }
}

#[derive(Debug)]
struct SingleValues<M: Members> {
    members: M,
    data_type: DataType,
    values: Vec<Option<M::Key>>,
    /// The rows of each slot.
    counts: Vec<i64>,
    /// Bytes that the values own.
    owned: usize,
    /// How often the value of a slot has changed.
    changes: u64,
    /// Whether a slot has had two rows.
    failed: bool,
}

/// The values of a batch, ready for access by row.
pub(super) struct SingleArgs<M: Members> {
    batch: M::Batch,
    nulls: Option<NullBuffer>,
}

impl<M: Members> SingleArgs<M> {
    fn new(members: &M, array: &ArrayRef) -> Result<Self> {
        Ok(Self { batch: members.batch(array)?, nulls: array.logical_nulls() })
    }

    fn key(&self, row: usize) -> Option<M::Key> {
        let valid = self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        valid.then(|| M::key(M::get(&self.batch, row).borrow()))
    }
}

impl<M: Members> SingleValues<M> {
    fn set(&mut self, slot: usize, value: Option<M::Key>) {
        let size = |value: &Option<M::Key>| value.as_ref().map_or(0, |key| M::owned(key.borrow()));
        let old = &mut self.values[slot];
        self.changes += u64::from(*old != value);
        self.owned = self.owned + size(&value) - size(old);
        *old = value;
    }
}

impl<M: Members> Cells for SingleValues<M> {
    type Args = SingleArgs<M>;
    type Value = M::Mark;
    type Output = M::Output;

    fn args(&mut self, args: &[ArrayRef]) -> Result<Self::Args> {
        SingleArgs::new(&self.members, state_column(args, 0)?)
    }

    fn taken(&self, _: &[ArrayRef]) -> Option<NullBuffer> {
        None
    }

    fn add(&mut self, slot: usize, _: M::Mark, args: &Self::Args, row: usize) -> M::Mark {
        self.failed |= self.counts[slot] > 0;
        self.counts[slot] += 1;
        self.set(slot, args.key(row));
        self.value(slot)
    }

    fn retract(&mut self, slot: usize, _: M::Mark, _: &Self::Args, _: usize) -> M::Mark {
        self.failed |= !matches!(self.counts[slot], 0 | 1);
        self.counts[slot] -= 1;
        self.set(slot, None);
        self.value(slot)
    }

    fn check(&mut self) -> Result<()> {
        if std::mem::take(&mut self.failed) {
            return exec_err!("SingleValueAggFunction received more than one element.");
        }
        Ok(())
    }

    fn value(&self, slot: usize) -> M::Mark {
        M::mark(self.values[slot].as_ref(), self.changes)
    }

    fn output(&self, len: usize) -> Self::Output {
        self.members.output(len)
    }

    fn put(&self, at: usize, slot: usize, _: M::Mark, output: &mut Self::Output) {
        self.members.put(at, self.values[slot].as_ref(), output);
    }

    fn finish(&self, output: Self::Output) -> Result<ArrayRef> {
        self.members.finish(output, &self.data_type)
    }

    fn grow(&mut self, slots: usize) {
        grow(&mut self.values, slots);
        grow(&mut self.counts, slots);
    }

    fn clear(&mut self, slot: usize) {
        self.set(slot, None);
        self.counts[slot] = 0;
    }

    fn state_fields(&self) -> Vec<Field> {
        vec![Field::new("value", self.data_type.clone(), true), Field::new("count", DataType::Int64, false)]
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let values = slots.iter().map(|&slot| self.values[slot as usize].as_ref());
        Ok(vec![self.members.collect(values, &self.data_type)?, gather_counts(&self.counts, slots)])
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        let values = SingleArgs::new(&self.members, state_column(state, 0)?)?;
        let counts = i64::values(state_column(state, 1)?)?;
        for (row, &slot) in slots.iter().enumerate() {
            let (slot, count) = (slot as usize, counts[row]);
            let before = self.counts[slot];
            self.counts[slot] = before + count;
            if count > 0 || (before == 0 && count == 0) {
                self.set(slot, values.key(row));
            } else if count < 0 {
                self.set(slot, None);
            }
            self.failed |= self.counts[slot] > 1;
        }
        self.check()
    }

    fn memory_size(&self) -> usize {
        vec_size(&self.values) + vec_size(&self.counts) + self.owned
    }
}
