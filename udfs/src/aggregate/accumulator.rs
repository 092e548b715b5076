//! An [`AggregateState`] as DataFusion's accumulators.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, new_null_array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field};
use datafusion_common::{Result, ScalarValue, internal_err, plan_err};
use datafusion_expr::{Accumulator, EmitTo, GroupsAccumulator};

use super::{
    AggregateArgs, AggregateState, DistinctMembership, DistinctRows, MergedMembers, Rows, StreamingAggregate,
};

/// Makes the states of one aggregate call.
#[derive(Debug, Clone)]
pub(super) struct StateFactory {
    pub(super) function: Arc<dyn StreamingAggregate>,
    pub(super) arg_types: Vec<DataType>,
    pub(super) return_type: DataType,
    pub(super) retracting: bool,
    pub(super) ignore_nulls: bool,
    pub(super) distinct: bool,
}

impl StateFactory {
    fn state(&self) -> Result<Box<dyn AggregateState>> {
        self.function.state(&AggregateArgs {
            arg_types: &self.arg_types,
            return_type: &self.return_type,
            retracting: self.retracting,
            in_order: false,
            ignore_nulls: self.ignore_nulls,
        })
    }

    pub(super) fn states(&self) -> Result<States> {
        let distinct = match self.arg_types.split_first() {
            Some((value, constants)) if self.distinct => Some(Distinct {
                membership: DistinctMembership::try_new(value, 1, self.retracting)?,
                constants: constants.iter().map(|constant| new_null_array(constant, 1)).collect(),
            }),
            None if self.distinct => {
                return plan_err!("{}(DISTINCT) lacks its argument", self.function.name());
            }
            _ => None,
        };
        Ok(States { state: self.state()?, distinct })
    }
}

/// The state of an aggregate, and for DISTINCT the members that it is made of.
#[derive(Debug)]
pub(super) struct States {
    state: Box<dyn AggregateState>,
    distinct: Option<Distinct>,
}

/// The first argument of a DISTINCT call by its values, and the others, which are constants.
#[derive(Debug)]
struct Distinct {
    membership: DistinctMembership,
    /// Arrays of one value.
    constants: Vec<ArrayRef>,
}

impl Distinct {
    fn learn(&mut self, constants: &[ArrayRef]) {
        for (known, constant) in self.constants.iter_mut().zip(constants) {
            if !constant.is_empty() && constant.is_valid(0) {
                *known = constant.slice(0, 1);
            }
        }
    }

    /// The arguments of a call with these values.
    fn args(&self, values: ArrayRef) -> Result<Vec<ArrayRef>> {
        let rows = arrow::array::UInt32Array::from_value(0, values.len());
        let constants = self.constants.iter().map(|constant| Ok(take(constant, &rows, None)?));
        std::iter::once(Ok(values)).chain(constants).collect()
    }
}

impl States {
    /// The fields of [`States::snapshot`]. The aggregate of DISTINCT is made anew from its members.
    pub(super) fn state_fields(&self) -> Vec<Field> {
        let Some(distinct) = &self.distinct else { return self.state.state_fields() };
        let constants = distinct.constants.iter().enumerate();
        let constants = constants.map(|(index, constant)| {
            Field::new(format!("constant{index}"), constant.data_type().clone(), true)
        });
        distinct.membership.state_fields().into_iter().chain(constants).collect()
    }

    fn grow(&mut self, slots: usize) {
        self.state.grow(slots);
        if let Some(distinct) = &mut self.distinct {
            distinct.membership.grow(slots);
        }
    }

    fn accumulate(&mut self, rows: &Rows<'_>, args: &[ArrayRef]) -> Result<()> {
        let Some(distinct) = &mut self.distinct else { return self.state.accumulate(rows, args) };
        let Some((values, constants)) = args.split_first() else {
            return internal_err!("an aggregate of DISTINCT got no argument");
        };
        distinct.learn(constants);
        let distinct_rows = DistinctRows { slots: rows.slots, retract: rows.retract, fates: None };
        let masks = distinct.membership.apply(&distinct_rows, values, &[rows.filter])?;
        self.state.accumulate(&Rows { filter: masks.first(), ..*rows }, args)
    }

    fn evaluate(&self, slots: &[u32]) -> Result<ArrayRef> {
        self.state.evaluate(slots)
    }

    fn snapshot(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let Some(distinct) = &self.distinct else { return self.state.snapshot(slots) };
        let mut state = distinct.membership.snapshot(slots)?;
        let rows = arrow::array::UInt32Array::from_value(0, slots.len());
        for constant in &distinct.constants {
            state.push(take(constant, &rows, None)?);
        }
        Ok(state)
    }

    fn merge(&mut self, slots: &[u32], state: &[ArrayRef]) -> Result<()> {
        let Some(distinct) = &mut self.distinct else { return self.state.merge(slots, state) };
        distinct.learn(state.get(1..).unwrap_or_default());
        let MergedMembers { slots, values, retract, masks } = distinct.membership.merge(slots, state)?;
        let args = distinct.args(values)?;
        let retract = retract.contains(&true).then_some(&*retract);
        self.state.accumulate(&Rows { slots: &slots, retract, filter: masks.first() }, &args)
    }

    fn memory_size(&self) -> usize {
        let members = self.distinct.as_ref().map_or(0, |distinct| distinct.membership.memory_size());
        self.state.memory_size() + members
    }
}

/// A state with one slot: the aggregation of one group.
#[derive(Debug)]
pub(super) struct SlotAccumulator {
    states: States,
    retracting: bool,
    /// The slot of each row.
    slots: Vec<u32>,
    retract: Vec<bool>,
}

impl SlotAccumulator {
    pub(super) fn try_new(factory: &StateFactory) -> Result<Self> {
        let mut states = factory.states()?;
        states.grow(1);
        Ok(Self { states, retracting: factory.retracting, slots: Vec::new(), retract: Vec::new() })
    }

    fn accumulate(&mut self, values: &[ArrayRef], retract: bool) -> Result<()> {
        let rows = values.first().map_or(0, |values| values.len());
        self.slots.resize(rows, 0);
        self.retract.clear();
        self.retract.resize(rows, retract);
        let retract = retract.then_some(&*self.retract);
        self.states.accumulate(&Rows { slots: &self.slots, retract, filter: None }, values)
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
        ScalarValue::try_from_array(&self.states.evaluate(&[0])?, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let state = self.states.snapshot(&[0])?;
        state.iter().map(|column| ScalarValue::try_from_array(column, 0)).collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, |state| state.len());
        self.slots.resize(rows, 0);
        self.states.merge(&self.slots, states)
    }

    fn size(&self) -> usize {
        size_of_val(self)
            + self.states.memory_size()
            + self.slots.capacity() * size_of::<u32>()
            + self.retract.capacity()
    }
}

/// A state with a slot for each of DataFusion's group indexes.
pub(super) struct GroupAccumulator {
    factory: StateFactory,
    states: States,
    groups: usize,
    /// The slot of each row.
    slots: Vec<u32>,
}

impl GroupAccumulator {
    pub(super) fn try_new(factory: StateFactory) -> Result<Self> {
        Ok(Self { states: factory.states()?, factory, groups: 0, slots: Vec::new() })
    }

    fn prepare(&mut self, group_indices: &[usize], groups: usize) -> Result<()> {
        if u32::try_from(groups).is_err() {
            return internal_err!("{groups} groups are more than an aggregate state has slots");
        }
        self.groups = self.groups.max(groups);
        self.states.grow(self.groups);
        self.slots.clear();
        self.slots.extend(group_indices.iter().map(|&group| group as u32));
        Ok(())
    }

    /// Takes the first groups out of the state by `take`; the others move to the front.
    fn emit<T>(&mut self, emit_to: EmitTo, take: impl FnOnce(&States, &[u32]) -> Result<T>) -> Result<T> {
        let groups = self.groups as u32;
        let emitted = match emit_to {
            EmitTo::All => groups,
            EmitTo::First(count) => groups.min(count as u32),
        };
        let all = (0..groups).collect::<Vec<_>>();
        let (emitted, kept) = all.split_at(emitted as usize);
        let taken = take(&self.states, emitted)?;
        let mut states = self.factory.states()?;
        if !kept.is_empty() {
            states.grow(kept.len());
            states.merge(&all[..kept.len()], &self.states.snapshot(kept)?)?;
        }
        self.states = states;
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
        self.states.accumulate(&Rows { slots: &self.slots, retract: None, filter: opt_filter }, values)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.emit(emit_to, |states, slots| states.evaluate(slots))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.emit(emit_to, |states, slots| states.snapshot(slots))
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.prepare(group_indices, total_num_groups)?;
        self.states.merge(&self.slots, values)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, |values| values.len()) as u32;
        let slots = (0..rows).collect::<Vec<_>>();
        let mut states = self.factory.states()?;
        states.grow(slots.len());
        states.accumulate(&Rows { slots: &slots, retract: None, filter: opt_filter }, values)?;
        states.snapshot(&slots)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.states.memory_size() + self.slots.capacity() * size_of::<u32>()
    }
}
