//! The first of two phases: partial aggregates of the rows of a bundle, before the exchange.

mod operator;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion_common::Result;

use self::operator::LocalGroupAggregate;
use super::aggregate::{AggregateCall, Aggregates, Bundling, KeyedAggregates};
use crate::runtime::{ElementStream, Operator, StreamNode, StreamTask, StreamTraits};

/// Flink's LocalGroupAggregate: for each bundle and key one row, of the key, the number of rows less
/// retractions, and the state of the aggregates. Keeps nothing from bundle to bundle.
#[derive(Debug, Clone)]
pub struct LocalGroupAggregateNode {
    keys: Vec<usize>,
    calls: Vec<AggregateCall>,
    input: SchemaRef,
    retracting: bool,
    bundling: Bundling,
    schema: SchemaRef,
}

/// The column with the number of rows of a partial aggregate.
pub(crate) const PARTIAL_ROWS: &str = "$rows";

impl LocalGroupAggregateNode {
    /// Groups rows of `input` by the columns `keys`. `retracting` tells whether they may be
    /// retractions.
    pub fn try_new(
        keys: Vec<usize>,
        calls: Vec<AggregateCall>,
        input: SchemaRef,
        retracting: bool,
        bundling: Bundling,
    ) -> Result<Self> {
        let schema = Arc::new(Schema::empty());
        let mut node = LocalGroupAggregateNode { keys, calls, input, retracting, bundling, schema };
        let mut fields = node.key_fields();
        fields.push(Field::new(PARTIAL_ROWS, DataType::Int64, false));
        fields.extend(node.groups()?.aggregates.partial_fields());
        node.schema = Arc::new(Schema::new(fields));
        Ok(node)
    }

    fn key_fields(&self) -> Vec<Field> {
        self.keys.iter().map(|key| self.input.field(*key).clone()).collect()
    }

    fn groups(&self) -> Result<KeyedAggregates> {
        let types: Vec<DataType> =
            self.input.fields().iter().map(|field| field.data_type().clone()).collect();
        let aggregates = Aggregates::for_partials(&self.calls, &types, self.retracting)?;
        KeyedAggregates::try_new(self.key_fields(), self.keys.len(), aggregates, true, 0)
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + use<>> {
        Ok(LocalGroupAggregate::new(self.clone(), self.groups()?))
    }
}

impl StreamNode for LocalGroupAggregateNode {
    fn name(&self) -> &'static str {
        "LocalGroupAggregate"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.keys.iter().map(|key| self.input.field(*key).name().as_str()).collect();
        let calls: Vec<_> = self.calls.iter().map(AggregateCall::to_string).collect();
        write!(f, "key=[{}], aggr=[{}], bundle=[{}]", keys.join(", "), calls.join(", "), self.bundling)
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, _inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        Ok(StreamTraits::default())
    }

    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        true
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run_node(self, Self::operator)
    }
}
