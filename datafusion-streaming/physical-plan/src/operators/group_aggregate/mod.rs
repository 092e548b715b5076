//! GROUP BY with a per-record changelog.
//!
//! For each row, in order, the aggregates of its group before and after it tell what to emit:
//!
//! ```text
//!   first row of a group            +I after
//!   last row taken back             -D before
//!   before = after                  nothing (with a state TTL: the update all the same)
//!   else                            -U before, +U after
//! ```
//!
//! The operator never looks at values row by row. Each aggregate folds the batch in a loop of its
//! own and returns its values before and after every row as one array; what is left is to pick the
//! rows to emit, and where every row updates (the steady state) there is nothing to pick: the array
//! is the output column.

pub(crate) mod emit;
mod operator;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion_common::Result;

use self::operator::GroupAggregate;
use super::aggregate::{AggregateCall, Aggregates, KeyedAggregates};
use crate::changelog::{ChangelogMode, RowKind};
use crate::runtime::{
    Distribution, ElementStream, Monotonicity, Operator, StreamNode, StreamTask, StreamTraits,
};

/// Flink's GroupAggregate: groups by columns, on appends and changelogs.
#[derive(Debug, Clone)]
pub struct GroupAggregateNode {
    keys: Vec<usize>,
    calls: Vec<AggregateCall>,
    input: SchemaRef,
    schema: SchemaRef,
    /// Whether the input may retract rows.
    retracting: bool,
    /// Whether `-U` rows are emitted.
    update_before: bool,
    /// State that has not been written for this many milliseconds is forgotten; 0: never.
    ttl: i64,
}

impl GroupAggregateNode {
    /// Groups rows of `input` by the columns `keys`. The output, of `schema`, is the keys and then
    /// the results of `calls`. `mode` is the input's; `ttl` the state's time to live in
    /// milliseconds, 0 for ever.
    pub fn new(
        keys: Vec<usize>,
        calls: Vec<AggregateCall>,
        input: SchemaRef,
        schema: SchemaRef,
        mode: ChangelogMode,
        ttl: i64,
    ) -> Self {
        let retracting = !mode.is_insert_only();
        GroupAggregateNode { keys, calls, input, schema, retracting, update_before: true, ttl }
    }

    /// How updates change the output: nothing is known where groups can lose rows for good, or
    /// where an update moves a row to another group.
    fn monotonicity(&self, input: &StreamTraits) -> Vec<Monotonicity> {
        let is_constant = |key: &usize| input.monotonicity_of(*key) == Monotonicity::Constant;
        if input.mode.contains(RowKind::Delete) || !self.keys.iter().all(is_constant) {
            return vec![];
        }
        let of_call = |call: &AggregateCall| {
            let own = match call.function.name() {
                // an update of a row does not change how many there are
                "count" => return Monotonicity::Increasing,
                "max" => Monotonicity::Increasing,
                "min" => Monotonicity::Decreasing,
                _ => return Monotonicity::NotMonotonic,
            };
            let argument =
                call.args.first().map_or(Monotonicity::Constant, |arg| input.monotonicity_of(*arg));
            match input.mode.is_insert_only() || argument == own {
                true => own,
                false => Monotonicity::NotMonotonic,
            }
        };
        let keys = self.keys.iter().map(|_| Monotonicity::Constant);
        keys.chain(self.calls.iter().map(of_call)).collect()
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + 'static> {
        let types: Vec<DataType> =
            self.input.fields().iter().map(|field| field.data_type().clone()).collect();
        let aggregates = Aggregates::try_new(&self.calls, &types, self.retracting)?;
        let key_fields: Vec<_> = self.keys.iter().map(|key| self.input.field(*key).clone()).collect();
        let (timed, group_by) = (self.ttl > 0, self.keys.len());
        let counted = self.retracting || timed || self.keys.is_empty();
        let groups = KeyedAggregates::try_new(key_fields, group_by, aggregates, counted, timed)?;
        Ok(GroupAggregate::new(self.clone(), groups))
    }
}

impl StreamNode for GroupAggregateNode {
    fn name(&self) -> &'static str {
        "GroupAggregate"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.keys.iter().map(|key| self.input.field(*key).name().as_str()).collect();
        let calls: Vec<_> = self.calls.iter().map(AggregateCall::to_string).collect();
        write!(f, "key=[{}], aggr=[{}]", keys.join(", "), calls.join(", "))?;
        match self.ttl {
            0 => Ok(()),
            ttl => write!(f, ", ttl=[{ttl} ms]"),
        }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let mut mode = ChangelogMode::INSERT_ONLY;
        if !self.calls.is_empty() {
            mode = mode.with(RowKind::UpdateAfter);
            if self.update_before {
                mode = mode.with(RowKind::UpdateBefore);
            }
        }
        if self.retracting {
            mode = mode.with(RowKind::Delete);
        }
        Ok(StreamTraits {
            mode,
            upsert_keys: vec![(0..self.keys.len()).collect()],
            monotonicity: inputs.first().map_or(vec![], |input| self.monotonicity(input)),
            ..StreamTraits::default()
        })
    }

    fn required_distribution(&self, _input: usize) -> Distribution {
        match self.keys.as_slice() {
            [] => Distribution::Single,
            keys => Distribution::Hash(keys.to_vec()),
        }
    }

    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        true
    }

    fn with_update_before(&self, needed: bool) -> Option<Arc<dyn StreamNode>> {
        (needed != self.update_before).then(|| {
            Arc::new(GroupAggregateNode { update_before: needed, ..self.clone() }) as Arc<dyn StreamNode>
        })
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run(self.operator()?)
    }
}

#[cfg(test)]
mod tests;
