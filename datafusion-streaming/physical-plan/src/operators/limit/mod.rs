//! LIMIT and OFFSET on appends: the first rows to arrive. When they are there, the query ends, which
//! Flink's does not: nothing that comes later could change them. On changelogs LIMIT is a Top-N without an
//! order ([`super::top_n`]).

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::Result;

use crate::changelog::ChangelogBatch;
use crate::runtime::{
    Context, Distribution, ElementStream, Operator, Output, StreamNode, StreamTask, StreamTraits,
};
use crate::state::{StateTable, ValueTable};

/// Flink's Limit over an append-only input.
#[derive(Debug, Clone)]
pub struct LimitNode {
    skip: usize,
    fetch: usize,
    schema: SchemaRef,
}

impl LimitNode {
    /// Passes over `skip` rows and lets `fetch` rows through.
    pub fn new(skip: usize, fetch: usize, schema: SchemaRef) -> Self {
        LimitNode { skip, fetch, schema }
    }

    /// The operator of the node.
    pub fn operator(&self) -> impl Operator + use<> {
        Limit { node: self.clone(), seen: ValueTable::new("seen", 0) }
    }
}

impl StreamNode for LimitNode {
    fn name(&self) -> &'static str {
        "Limit"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset=[{}], fetch=[{}]", self.skip, self.fetch)
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        Ok(inputs[0].clone())
    }

    fn required_distribution(&self, _input: usize) -> Distribution {
        Distribution::Single
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run(self.operator())
    }
}

struct Limit {
    node: LimitNode,
    /// Rows that have come, as far as it matters.
    seen: ValueTable,
}

impl Operator for Limit {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        _cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let seen = self.seen.value as usize;
        let end = self.node.skip.saturating_add(self.node.fetch);
        let rows = changes.num_rows();
        let from = self.node.skip.saturating_sub(seen).min(rows);
        let to = end.saturating_sub(seen).min(rows);
        if from < to {
            out.data(changes.slice(from, to - from));
        }
        self.seen.value = seen.saturating_add(rows).min(end) as i64;
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.seen.value as usize >= self.node.skip.saturating_add(self.node.fetch)
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.seen]
    }
}
