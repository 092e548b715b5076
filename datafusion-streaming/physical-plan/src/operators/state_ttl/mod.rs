//! The hint STATE_TTL, on its way to the operator that it is for.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::Result;

use crate::runtime::{ElementStream, StreamNode, StreamTask, StreamTraits};

/// How long the join or aggregation above it keeps what it learns of its input. The planner takes the node out of
/// the plan when it has read it; one that is left passes everything on.
#[derive(Debug, Clone)]
pub struct StateTtlNode {
    ttl: i64,
    schema: SchemaRef,
}

impl StateTtlNode {
    /// A time to live in milliseconds, 0 for ever, over an input of this schema.
    pub fn new(ttl: i64, schema: SchemaRef) -> Self {
        StateTtlNode { ttl, schema }
    }

    /// The time to live in milliseconds, 0 for ever.
    pub fn ttl(&self) -> i64 {
        self.ttl
    }
}

impl StreamNode for StateTtlNode {
    fn name(&self) -> &'static str {
        "StateTtl"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ttl=[{} ms]", self.ttl)
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        Ok(inputs.first().map(|input| (*input).clone()).unwrap_or_default())
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.input(0)
    }
}
