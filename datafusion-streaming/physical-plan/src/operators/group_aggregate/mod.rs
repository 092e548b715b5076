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

mod bundled;
pub(crate) mod emit;
mod operator;

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion_common::Result;
use datafusion_streaming_udfs::aggregate::AggregateKind;

use self::bundled::BundledGroupAggregate;
use self::operator::GroupAggregate;
use super::aggregate::{AggregateCall, Aggregates, Bundling, KeyedAggregates};
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
    /// With mini-batch: when bundles end.
    bundling: Option<Bundling>,
    /// Whether the rows are partial aggregates; `input` is then what those were made of.
    partial: bool,
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
        GroupAggregateNode {
            keys,
            calls,
            input,
            schema,
            retracting,
            update_before: true,
            ttl,
            bundling: None,
            partial: false,
        }
    }

    /// The node with mini-batch: groups emit the net change of a bundle.
    pub fn with_bundles(self, bundling: Bundling) -> Self {
        GroupAggregateNode { bundling: Some(bundling), ..self }
    }

    /// The second phase: the node merges the rows of a
    /// [`LocalGroupAggregateNode`](super::local_group_aggregate::LocalGroupAggregateNode) that was made
    /// for the same keys, calls and input.
    pub fn with_partials(self, bundling: Bundling) -> Self {
        GroupAggregateNode { bundling: Some(bundling), partial: true, ..self }
    }

    /// The columns of the input that are keys: of partial aggregates the first ones.
    fn key_places(&self) -> Vec<usize> {
        match self.partial {
            true => (0..self.keys.len()).collect(),
            false => self.keys.clone(),
        }
    }

    fn key_columns(&self, batch: &RecordBatch) -> Vec<ArrayRef> {
        self.key_places().into_iter().map(|key| Arc::clone(batch.column(key))).collect()
    }

    /// How updates change the output: nothing is known where nothing is known of the input, or where an
    /// update moves a row to another group. Groups that end do not count: Flink's aggregates of an
    /// aggregate do not look for them either, so that a MAX keeps what a group that is gone had.
    fn monotonicity(&self, input: &StreamTraits) -> Vec<Monotonicity> {
        let is_constant = |key: &usize| input.monotonicity_of(*key) == Monotonicity::Constant;
        if self.partial && self.retracting {
            return vec![];
        }
        let unknown = !input.mode.is_insert_only() && input.monotonicity.is_empty();
        if unknown || !self.keys.iter().all(is_constant) {
            return vec![];
        }
        let of_call = |call: &AggregateCall| {
            let own = match call.function.kind() {
                // an update of a row does not change how many there are
                AggregateKind::Count => return Monotonicity::Increasing,
                AggregateKind::Max => Monotonicity::Increasing,
                AggregateKind::Min => Monotonicity::Decreasing,
                AggregateKind::Sum
                    if input.mode.is_insert_only()
                        && call.args.first().is_some_and(|arg| input.never_negative.contains(arg)) =>
                {
                    return Monotonicity::Increasing;
                }
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

    fn input_types(&self) -> Vec<DataType> {
        self.input.fields().iter().map(|field| field.data_type().clone()).collect()
    }

    /// States in which partial aggregates are merged with each other.
    fn partial_aggregates(&self) -> Result<Aggregates> {
        Aggregates::for_partials(&self.calls, &self.input_types(), self.retracting)
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<Box<dyn Operator>> {
        let aggregates = Aggregates::with_ttl(&self.calls, &self.input_types(), self.retracting, self.ttl)?;
        let key_fields: Vec<_> = self.keys.iter().map(|key| self.input.field(*key).clone()).collect();
        let (timed, group_by) = (self.ttl > 0, self.keys.len());
        let counted = self.retracting || timed || self.keys.is_empty() || self.bundling.is_some();
        let groups = KeyedAggregates::try_new(key_fields, group_by, aggregates, counted, self.ttl)?;
        Ok(match self.bundling {
            Some(bundling) => Box::new(BundledGroupAggregate::new(self.clone(), bundling, groups)),
            None => Box::new(GroupAggregate::new(self.clone(), groups)),
        })
    }
}

impl StreamNode for GroupAggregateNode {
    fn name(&self) -> &'static str {
        if self.partial { "GlobalGroupAggregate" } else { "GroupAggregate" }
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.keys.iter().map(|key| self.input.field(*key).name().as_str()).collect();
        let calls: Vec<_> = self.calls.iter().map(AggregateCall::to_string).collect();
        write!(f, "key=[{}], aggr=[{}]", keys.join(", "), calls.join(", "))?;
        if let Some(bundling) = &self.bundling {
            write!(f, ", bundle=[{bundling}]")?;
        }
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
        match self.key_places() {
            keys if keys.is_empty() => Distribution::Single,
            keys => Distribution::Hash(keys),
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
        task.run_node(self, Self::operator)
    }
}

#[cfg(test)]
mod bundled_tests;
#[cfg(test)]
mod tests;
