//! Aggregate calls, and the states of all calls of an operator.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::compute::and_kleene;
use arrow::datatypes::{DataType, Field};
use datafusion_common::{Result, exec_err};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Literal;
use datafusion_streaming_udfs::aggregate::{
    AggregateArgs, AggregateKind, AggregateState, DistinctRows, Fate, Fold, OutputLayout, Rows,
    StreamingAggregate,
};

use super::distinct::{DistinctUse, DistinctValues};

/// One aggregate call of a query, its arguments being columns of the operator's input.
#[derive(Debug, Clone)]
pub struct AggregateCall {
    /// The function.
    pub function: Arc<dyn StreamingAggregate>,
    /// The columns of the arguments; none for COUNT(*).
    pub args: Vec<usize>,
    /// The boolean column of the FILTER clause.
    pub filter: Option<usize>,
    /// Whether only distinct values count.
    pub distinct: bool,
    /// Whether NULLs are passed over (`IGNORE NULLS`).
    pub ignore_nulls: bool,
    /// Whether retractions are passed over: where an update can only move the argument in the direction
    /// that the function looks in (MAX of what only grows), the old value need not be taken back.
    pub appends_only: bool,
    /// The type of the result.
    pub return_type: DataType,
    /// The call as EXPLAIN shows it.
    pub display: String,
}

impl fmt::Display for AggregateCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display)
    }
}

/// The arguments of a call that it reads: none of COUNT(*), which comes as the count of a literal.
pub fn arguments_read(
    function: &dyn StreamingAggregate,
    args: Vec<Arc<dyn PhysicalExpr>>,
) -> Vec<Arc<dyn PhysicalExpr>> {
    let is_value = |arg: &Arc<dyn PhysicalExpr>| {
        arg.downcast_ref::<Literal>().is_some_and(|literal| !literal.value().is_null())
    };
    match function.kind() == AggregateKind::Count && args.iter().all(is_value) {
        true => vec![],
        false => args,
    }
}

/// The states of all calls, for all groups.
#[derive(Debug)]
pub struct Aggregates {
    calls: Vec<CallState>,
    distinct: Vec<DistinctValues>,
    /// Processing time in milliseconds.
    now: i64,
}

/// Which rows may be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retractions {
    None,
    Any,
    /// The oldest ones.
    InOrder,
}

impl Retractions {
    fn any_if(retracting: bool) -> Self {
        if retracting { Retractions::Any } else { Retractions::None }
    }
}

/// A call and its state.
#[derive(Debug)]
struct CallState {
    call: AggregateCall,
    state: Box<dyn AggregateState>,
    /// The number of columns of a snapshot of the state.
    width: usize,
    /// For DISTINCT: which of the distinct values, and which of its filters.
    distinct: Option<(usize, usize)>,
}

/// What folding a batch gives.
#[derive(Debug)]
pub struct FoldedBatch {
    /// The values of each call, in the layout asked for.
    pub values: Vec<ArrayRef>,
    /// For each row of [`Fate::Update`], whether any value changed.
    pub changed: Vec<bool>,
}

impl Aggregates {
    /// New states for calls over columns of these types.
    pub fn try_new(calls: &[AggregateCall], input: &[DataType], retracting: bool) -> Result<Self> {
        Aggregates::with_ttl(calls, input, retracting, 0)
    }

    /// New states whose distinct values expire when they have not been written for `ttl` milliseconds;
    /// 0: never.
    pub fn with_ttl(calls: &[AggregateCall], input: &[DataType], retracting: bool, ttl: i64) -> Result<Self> {
        let distinct = DistinctUse::Kept { ttl };
        Aggregates::with_distinct(calls, input, Retractions::any_if(retracting), distinct)
    }

    /// New states for frames, from which rows go in the order in which they came.
    pub fn for_frames(calls: &[AggregateCall], input: &[DataType]) -> Result<Self> {
        Aggregates::with_distinct(calls, input, Retractions::InOrder, DistinctUse::Kept { ttl: 0 })
    }

    /// New states for the first of two phases.
    pub fn for_partials(calls: &[AggregateCall], input: &[DataType], retracting: bool) -> Result<Self> {
        Aggregates::with_distinct(calls, input, Retractions::any_if(retracting), DistinctUse::Partial)
    }

    fn with_distinct(
        calls: &[AggregateCall],
        input: &[DataType],
        retractions: Retractions,
        use_of: DistinctUse,
    ) -> Result<Self> {
        let retracting = retractions != Retractions::None;
        let state = |call: &AggregateCall| {
            let arg_types: Vec<_> = call.args.iter().map(|column| input[*column].clone()).collect();
            call.function.state(&AggregateArgs {
                arg_types: &arg_types,
                return_type: &call.return_type,
                retracting: retracting && !call.appends_only,
                // the values of DISTINCT go when the last of their rows does
                in_order: retractions == Retractions::InOrder && !call.distinct,
                ignore_nulls: call.ignore_nulls,
            })
        };
        let groups = distinct_groups(calls);
        let place = |call: &AggregateCall| {
            let columns = |(args, _): &(&[usize], Vec<Option<usize>>)| *args == call.args.as_slice();
            let group = groups.iter().position(columns).filter(|_| call.distinct)?;
            groups[group].1.iter().position(|filter| *filter == call.filter).map(|filter| (group, filter))
        };
        let calls = calls
            .iter()
            .map(|call| {
                let state = state(call)?;
                let width = state.state_fields().len();
                Ok(CallState { state, width, distinct: place(call), call: call.clone() })
            })
            .collect::<Result<_>>()?;
        let distinct = groups
            .into_iter()
            .map(|(columns, filters)| {
                DistinctValues::try_new(columns.to_vec(), filters, input, retracting, use_of)
            })
            .collect::<Result<_>>()?;
        Ok(Aggregates { calls, distinct, now: 0 })
    }

    /// Sets the processing time of what follows, in milliseconds. It only matters with a time to live.
    pub fn set_time(&mut self, now: i64) {
        self.now = now;
    }

    /// Gives back the memory of distinct values that have expired.
    pub fn sweep(&mut self) {
        self.distinct.iter_mut().for_each(|values| values.sweep(self.now));
    }

    /// Makes room for this many slots.
    pub fn grow(&mut self, slots: usize) {
        self.calls.iter_mut().for_each(|call| call.state.grow(slots));
        self.distinct.iter_mut().for_each(|values| values.grow(slots));
    }

    /// Clears slots for other groups.
    pub fn clear(&mut self, slots: &[u32]) {
        self.calls.iter_mut().for_each(|call| call.state.clear(slots));
        self.distinct.iter_mut().for_each(|values| values.clear(slots));
    }

    /// Folds a batch row by row and returns the values before and after each.
    pub fn fold(
        &mut self,
        batch: &RecordBatch,
        slots: &[u32],
        retract: Option<&[bool]>,
        fates: &[Fate],
        layout: OutputLayout,
    ) -> Result<FoldedBatch> {
        let passing = self.observe(batch, slots, retract, Some(fates))?;
        let mut changed = vec![false; slots.len()];
        let mut values = Vec::with_capacity(self.calls.len());
        for CallState { call, state, distinct, .. } in &mut self.calls {
            let passing = distinct.map(|(group, filter)| &passing[group][filter]);
            let (args, filter, retract) = inputs(call, batch, retract, passing)?;
            let rows = Rows { slots, retract, filter: filter.as_ref() };
            values.push(state.fold(&Fold { rows, fates, layout }, &args, &mut changed)?);
        }
        Ok(FoldedBatch { values, changed })
    }

    /// Folds a batch without output.
    pub fn accumulate(&mut self, batch: &RecordBatch, slots: &[u32], retract: Option<&[bool]>) -> Result<()> {
        let passing = self.observe(batch, slots, retract, None)?;
        for CallState { call, state, distinct, .. } in &mut self.calls {
            let passing = distinct.map(|(group, filter)| &passing[group][filter]);
            let (args, filter, retract) = inputs(call, batch, retract, passing)?;
            state.accumulate(&Rows { slots, retract, filter: filter.as_ref() }, &args)?;
        }
        Ok(())
    }

    /// For each group of DISTINCT calls and each of its filters, the rows that its calls see.
    fn observe(
        &mut self,
        batch: &RecordBatch,
        slots: &[u32],
        retract: Option<&[bool]>,
        fates: Option<&[Fate]>,
    ) -> Result<Vec<Vec<BooleanArray>>> {
        let rows = DistinctRows { slots, retract, fates };
        self.distinct.iter_mut().map(|values| values.observe(batch, &rows, self.now)).collect()
    }

    /// Merges the state of `from[i]` into `into[i]`; the slots `from` keep theirs.
    pub fn merge_slots(&mut self, into: &[u32], from: &[u32]) -> Result<()> {
        if !self.distinct.is_empty() {
            return self.merge_partial(into, &self.partial(from)?);
        }
        self.calls.iter_mut().try_for_each(|call| call.state.merge_slots(into, from))
    }

    /// The values of all calls for these slots.
    pub fn evaluate(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        self.calls.iter().map(|call| call.state.evaluate(slots)).collect()
    }

    /// The state of these slots as columns, with their names: what [`Aggregates::partial`] has, and
    /// the states of DISTINCT calls.
    pub fn snapshot(&self, slots: &[u32]) -> Result<Vec<(Field, ArrayRef)>> {
        let fields = self.partial_fields().into_iter().chain(self.state_fields(true));
        Ok(fields.zip(self.partial(slots)?.into_iter().chain(self.states(slots, true)?)).collect())
    }

    /// The fields of [`Aggregates::partial`].
    pub fn partial_fields(&self) -> Vec<Field> {
        let mut fields = self.state_fields(false);
        for (number, values) in self.distinct.iter().enumerate() {
            let named = |field: Field| {
                let name = format!("$distinct{number}.{}", field.name());
                field.with_name(name)
            };
            fields.extend(values.state_fields().into_iter().map(named));
        }
        fields
    }

    /// The state of these slots for [`Aggregates::merge_partial`]. That of a DISTINCT call is in its
    /// distinct values.
    pub fn partial(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let mut columns = self.states(slots, false)?;
        for values in &self.distinct {
            columns.extend(values.snapshot(slots)?);
        }
        Ok(columns)
    }

    /// The states of the calls that are DISTINCT, or of those that are not.
    fn states(&self, slots: &[u32], distinct: bool) -> Result<Vec<ArrayRef>> {
        let mut columns = vec![];
        for call in self.calls.iter().filter(|call| call.distinct.is_some() == distinct) {
            columns.extend(call.state.snapshot(slots)?);
        }
        Ok(columns)
    }

    fn state_fields(&self, distinct: bool) -> Vec<Field> {
        let calls = self.calls.iter().enumerate().filter(|(_, call)| call.distinct.is_some() == distinct);
        let named = |(number, call): (usize, &CallState)| {
            let named = move |field: Field| {
                let name = format!("${number}.{}", field.name());
                field.with_name(name)
            };
            call.state.state_fields().into_iter().map(named)
        };
        calls.flat_map(named).collect()
    }

    /// Takes back columns made by [`Aggregates::snapshot`], into clear slots.
    pub fn restore(&mut self, slots: &[u32], columns: &[ArrayRef]) -> Result<()> {
        let mut columns = columns;
        let restore = |state: &mut dyn AggregateState, own: &[ArrayRef]| state.restore(slots, own);
        self.each_state(&mut columns, false, restore)?;
        for values in &mut self.distinct {
            let Some((saved, others)) = columns.split_at_checked(values.state_fields().len()) else {
                return exec_err!("the checkpoint does not hold the distinct values: the query has changed");
            };
            values.restore(slots, saved)?;
            columns = others;
        }
        self.each_state(&mut columns, true, restore)
    }

    /// Merges columns made by [`Aggregates::partial`]; row i belongs to `slots[i]`.
    pub fn merge_partial(&mut self, slots: &[u32], columns: &[ArrayRef]) -> Result<()> {
        let mut columns = columns;
        self.each_state(&mut columns, false, |state, own| state.merge(slots, own))?;
        for (group, values) in self.distinct.iter_mut().enumerate() {
            let Some((partial, others)) = columns.split_at_checked(values.state_fields().len()) else {
                return exec_err!("a partial aggregate lacks its distinct values");
            };
            columns = others;
            let merged = values.merge(slots, partial, self.now)?;
            for CallState { state, distinct, .. } in &mut self.calls {
                let Some((_, filter)) = distinct.filter(|distinct| distinct.0 == group) else { continue };
                let (passes, retract) = &merged.passing[filter];
                let retract = retract.contains(&true).then_some(retract.as_slice());
                let rows = Rows { slots: &merged.slots, retract, filter: Some(passes) };
                state.accumulate(&rows, &merged.values)?;
            }
        }
        Ok(())
    }

    /// Gives the first of these columns to the states of the calls that are DISTINCT, or of those that
    /// are not.
    fn each_state(
        &mut self,
        columns: &mut &[ArrayRef],
        distinct: bool,
        take: impl Fn(&mut dyn AggregateState, &[ArrayRef]) -> Result<()>,
    ) -> Result<()> {
        for CallState { call, state, width, .. } in
            self.calls.iter_mut().filter(|call| call.distinct.is_some() == distinct)
        {
            let Some((own, others)) = columns.split_at_checked(*width) else {
                return exec_err!("the checkpoint does not hold the state of {call}: the query has changed");
            };
            take(state.as_mut(), own)?;
            *columns = others;
        }
        Ok(())
    }

    /// Bytes held, by capacity.
    pub fn memory_size(&self) -> usize {
        self.calls.iter().map(|call| call.state.memory_size()).sum::<usize>()
            + self.distinct.iter().map(DistinctValues::memory_size).sum::<usize>()
    }
}

/// The column sets of the DISTINCT calls, with the filters that they are under.
fn distinct_groups(calls: &[AggregateCall]) -> Vec<(&[usize], Vec<Option<usize>>)> {
    let mut groups: Vec<(&[usize], Vec<Option<usize>>)> = vec![];
    for call in calls.iter().filter(|call| call.distinct) {
        match groups.iter_mut().find(|(columns, _)| *columns == call.args.as_slice()) {
            Some((_, filters)) if filters.contains(&call.filter) => {}
            Some((_, filters)) => filters.push(call.filter),
            None => groups.push((&call.args, vec![call.filter])),
        }
    }
    groups
}

/// What a call takes of a batch.
type CallInputs<'a> = (Vec<ArrayRef>, Option<BooleanArray>, Option<&'a [bool]>);

/// The arguments of a call, its mask and its retractions, from a batch. `passing` is the mask of a
/// DISTINCT call.
fn inputs<'a>(
    call: &AggregateCall,
    batch: &RecordBatch,
    retract: Option<&'a [bool]>,
    passing: Option<&BooleanArray>,
) -> Result<CallInputs<'a>> {
    let args = call.args.iter().map(|column| Arc::clone(batch.column(*column))).collect();
    let mut filter = match passing {
        Some(passing) => Some(passing.clone()),
        None => call.filter.map(|column| batch.column(column).as_boolean().clone()),
    };
    let mut retract = retract;
    if call.appends_only
        && let Some(retractions) = retract.take()
    {
        let kept: BooleanArray = retractions.iter().map(|retraction| Some(!retraction)).collect();
        filter = Some(match filter {
            Some(filter) => and_kleene(&filter, &kept)?,
            None => kept,
        });
    }
    Ok((args, filter, retract))
}
