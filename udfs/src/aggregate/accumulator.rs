//! An [`AggregateState`] as DataFusion's accumulators.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::datatypes::DataType;
use datafusion_common::{Result, ScalarValue, internal_err};
use datafusion_expr::{Accumulator, EmitTo, GroupsAccumulator};

use super::{AggregateArgs, AggregateState, Rows, StreamingAggregate};

/// Makes the states of one aggregate call.
#[derive(Debug, Clone)]
pub(super) struct StateFactory {
    pub(super) function: Arc<dyn StreamingAggregate>,
    pub(super) arg_types: Vec<DataType>,
    pub(super) return_type: DataType,
    pub(super) retracting: bool,
    pub(super) ignore_nulls: bool,
}

impl StateFactory {
    fn state(&self) -> Result<Box<dyn AggregateState>> {
        self.function.state(&AggregateArgs {
            arg_types: &self.arg_types,
            return_type: &self.return_type,
            retracting: self.retracting,
            ignore_nulls: self.ignore_nulls,
        })
    }
}

/// A state with one slot: the aggregation of one group.
#[derive(Debug)]
pub(super) struct SlotAccumulator {
    state: Box<dyn AggregateState>,
    retracting: bool,
    /// The slot of each row.
    slots: Vec<u32>,
    retract: Vec<bool>,
}

impl SlotAccumulator {
    pub(super) fn try_new(factory: &StateFactory) -> Result<Self> {
        let mut state = factory.state()?;
        state.grow(1);
        Ok(Self { state, retracting: factory.retracting, slots: Vec::new(), retract: Vec::new() })
    }

    fn accumulate(&mut self, values: &[ArrayRef], retract: bool) -> Result<()> {
        let rows = values.first().map_or(0, |values| values.len());
        self.slots.resize(rows, 0);
        self.retract.clear();
        self.retract.resize(rows, retract);
        let retract = retract.then_some(&*self.retract);
        self.state.accumulate(&Rows { slots: &self.slots, retract, filter: None }, values)
    }
}

impl Accumulator for SlotAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.accumulate(values, false)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.accumulate(values, true)
    }

    fn supports_retract_batch(&self) -> bool {
        self.retracting
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        ScalarValue::try_from_array(&self.state.evaluate(&[0])?, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let state = self.state.snapshot(&[0])?;
        state.iter().map(|column| ScalarValue::try_from_array(column, 0)).collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, |state| state.len());
        self.slots.resize(rows, 0);
        self.state.merge(&self.slots, states)
    }

    fn size(&self) -> usize {
        size_of_val(self)
            + self.state.memory_size()
            + self.slots.capacity() * size_of::<u32>()
            + self.retract.capacity()
    }
}

/// A state with a slot for each of DataFusion's group indexes.
pub(super) struct GroupAccumulator {
    factory: StateFactory,
    state: Box<dyn AggregateState>,
    groups: usize,
    /// The slot of each row.
    slots: Vec<u32>,
}

impl GroupAccumulator {
    pub(super) fn try_new(factory: StateFactory) -> Result<Self> {
        Ok(Self { state: factory.state()?, factory, groups: 0, slots: Vec::new() })
    }

    fn prepare(&mut self, group_indices: &[usize], groups: usize) -> Result<()> {
        if u32::try_from(groups).is_err() {
            return internal_err!("{groups} groups are more than an aggregate state has slots");
        }
        self.groups = self.groups.max(groups);
        self.state.grow(self.groups);
        self.slots.clear();
        self.slots.extend(group_indices.iter().map(|&group| group as u32));
        Ok(())
    }

    /// Takes the first groups out of the state by `take`; the others move to the front.
    fn emit<T>(
        &mut self,
        emit_to: EmitTo,
        take: impl FnOnce(&dyn AggregateState, &[u32]) -> Result<T>,
    ) -> Result<T> {
        let groups = self.groups as u32;
        let emitted = match emit_to {
            EmitTo::All => groups,
            EmitTo::First(count) => groups.min(count as u32),
        };
        let all = (0..groups).collect::<Vec<_>>();
        let (emitted, kept) = all.split_at(emitted as usize);
        let taken = take(&*self.state, emitted)?;
        let mut state = self.factory.state()?;
        if !kept.is_empty() {
            state.grow(kept.len());
            state.merge(&all[..kept.len()], &self.state.snapshot(kept)?)?;
        }
        self.state = state;
        self.groups = kept.len();
        Ok(taken)
    }
}

impl GroupsAccumulator for GroupAccumulator {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.prepare(group_indices, total_num_groups)?;
        self.state.accumulate(&Rows { slots: &self.slots, retract: None, filter: opt_filter }, values)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.emit(emit_to, |state, slots| state.evaluate(slots))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.emit(emit_to, |state, slots| state.snapshot(slots))
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.prepare(group_indices, total_num_groups)?;
        self.state.merge(&self.slots, values)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, |values| values.len()) as u32;
        let slots = (0..rows).collect::<Vec<_>>();
        let mut state = self.factory.state()?;
        state.grow(slots.len());
        state.accumulate(&Rows { slots: &slots, retract: None, filter: opt_filter }, values)?;
        state.snapshot(&slots)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.state.memory_size() + self.slots.capacity() * size_of::<u32>()
    }
}
