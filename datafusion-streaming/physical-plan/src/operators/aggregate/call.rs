//! Aggregate calls, and the states of all calls of an operator.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::compute::and_kleene;
use arrow::datatypes::{DataType, Field};
use datafusion_common::{Result, exec_err};
use datafusion_streaming_udfs::aggregate::{
    AggregateArgs, AggregateState, Fate, Fold, OutputLayout, Rows, StreamingAggregate,
};

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

/// The states of all calls, for all groups.
#[derive(Debug)]
pub struct Aggregates {
    calls: Vec<(AggregateCall, Box<dyn AggregateState>)>,
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
        let state = |call: &AggregateCall| {
            let arg_types: Vec<_> = call.args.iter().map(|column| input[*column].clone()).collect();
            let state = call.function.state(&AggregateArgs {
                arg_types: &arg_types,
                return_type: &call.return_type,
                retracting: retracting && !call.appends_only,
                ignore_nulls: call.ignore_nulls,
            })?;
            Ok((call.clone(), state))
        };
        Ok(Aggregates { calls: calls.iter().map(state).collect::<Result<_>>()? })
    }

    /// Makes room for this many slots.
    pub fn grow(&mut self, slots: usize) {
        for (_, state) in &mut self.calls {
            state.grow(slots);
        }
    }

    /// Clears slots for other groups.
    pub fn clear(&mut self, slots: &[u32]) {
        for (_, state) in &mut self.calls {
            state.clear(slots);
        }
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
        let mut changed = vec![false; slots.len()];
        let mut values = Vec::with_capacity(self.calls.len());
        for (call, state) in &mut self.calls {
            let (args, filter, retract) = inputs(call, batch, retract)?;
            let rows = Rows { slots, retract, filter: filter.as_ref() };
            values.push(state.fold(&Fold { rows, fates, layout }, &args, &mut changed)?);
        }
        Ok(FoldedBatch { values, changed })
    }

    /// Folds a batch without output.
    pub fn accumulate(&mut self, batch: &RecordBatch, slots: &[u32], retract: Option<&[bool]>) -> Result<()> {
        for (call, state) in &mut self.calls {
            let (args, filter, retract) = inputs(call, batch, retract)?;
            state.accumulate(&Rows { slots, retract, filter: filter.as_ref() }, &args)?;
        }
        Ok(())
    }

    /// Merges the state of `from[i]` into `into[i]`; the slots `from` keep theirs.
    pub fn merge_slots(&mut self, into: &[u32], from: &[u32]) -> Result<()> {
        self.calls.iter_mut().try_for_each(|(_, state)| state.merge_slots(into, from))
    }

    /// The values of all calls for these slots.
    pub fn evaluate(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        self.calls.iter().map(|(_, state)| state.evaluate(slots)).collect()
    }

    /// The state of these slots as columns, with their names.
    pub fn snapshot(&self, slots: &[u32]) -> Result<Vec<(Field, ArrayRef)>> {
        let mut columns = vec![];
        for (number, (_, state)) in self.calls.iter().enumerate() {
            let fields = state.state_fields().into_iter();
            let named = fields.map(|field| {
                let name = format!("${number}.{}", field.name());
                field.with_name(name)
            });
            columns.extend(named.zip(state.snapshot(slots)?));
        }
        Ok(columns)
    }

    /// Takes back columns made by [`Aggregates::snapshot`], into clear slots.
    pub fn restore(&mut self, slots: &[u32], columns: &[ArrayRef]) -> Result<()> {
        let mut rest = columns;
        for (call, state) in &mut self.calls {
            let width = state.state_fields().len();
            let Some((own, others)) = rest.split_at_checked(width) else {
                return exec_err!("the checkpoint does not hold the state of {call}: the query has changed");
            };
            state.merge(slots, own)?;
            rest = others;
        }
        Ok(())
    }

    /// Bytes held, by capacity.
    pub fn memory_size(&self) -> usize {
        self.calls.iter().map(|(_, state)| state.memory_size()).sum()
    }
}

/// What a call takes of a batch.
type CallInputs<'a> = (Vec<ArrayRef>, Option<BooleanArray>, Option<&'a [bool]>);

/// The arguments of a call, its mask and its retractions, from a batch.
fn inputs<'a>(
    call: &AggregateCall,
    batch: &RecordBatch,
    retract: Option<&'a [bool]>,
) -> Result<CallInputs<'a>> {
    let args = call.args.iter().map(|column| Arc::clone(batch.column(*column))).collect();
    let mut filter = call.filter.map(|column| batch.column(column).as_boolean().clone());
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
