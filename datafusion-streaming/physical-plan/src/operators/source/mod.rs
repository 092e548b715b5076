//! Plans that are not streaming, as sources.

use std::fmt;

use arrow::datatypes::SchemaRef;
use datafusion_common::Result;

use crate::runtime::{ElementStream, NativeReader, StreamNode, StreamTask, StreamTraits};

/// The rows of any DataFusion plan as inserts: a table of the user's, bounded or not, or a part of
/// the query that does not stream.
#[derive(Debug, Clone)]
pub struct NativeSourceNode {
    schema: SchemaRef,
}

impl NativeSourceNode {
    /// A source over a plan of this schema, which is the node's input.
    pub fn new(schema: SchemaRef) -> Self {
        NativeSourceNode { schema }
    }
}

impl StreamNode for NativeSourceNode {
    fn name(&self) -> &'static str {
        "Source"
    }

    fn fmt_arguments(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn traits(&self, _inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        Ok(StreamTraits::default())
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        let batches = task.inputs[0].execute(task.partition, task.context.clone())?;
        task.run_source(NativeReader::new(batches))
    }
}
