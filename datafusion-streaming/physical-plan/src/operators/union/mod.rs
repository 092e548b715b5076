//! UNION ALL: the rows of all inputs, as they come.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion_common::{Result, internal_err};

use crate::changelog::ChangelogBatch;
use crate::runtime::{
    Context, Distribution, ElementStream, Operator, Output, StreamNode, StreamTask, StreamTraits,
};

/// The rows of all inputs. A row of one input may equal a row of another, so the union has no keys;
/// a column is a time attribute if it is one in every input.
#[derive(Debug, Clone)]
pub struct UnionNode {
    schema: SchemaRef,
}

impl UnionNode {
    /// A union whose inputs have columns of the types in `schema`.
    pub fn new(schema: SchemaRef) -> Self {
        UnionNode { schema }
    }
}

impl StreamNode for UnionNode {
    fn name(&self) -> &'static str {
        "Union"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("all=[true]")
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let Some((first, others)) = inputs.split_first() else {
            return internal_err!("a union of no inputs");
        };
        let in_all = |attribute: &&_| others.iter().all(|other| other.time_attributes.contains(attribute));
        Ok(StreamTraits {
            mode: others.iter().fold(first.mode, |mode, other| mode.union(other.mode)),
            upsert_keys: vec![],
            time_attributes: first.time_attributes.iter().filter(in_all).copied().collect(),
            window: first.window.clone().filter(|_| others.iter().all(|other| other.window == first.window)),
            monotonicity: vec![],
            never_negative: vec![],
        })
    }

    /// Without keys an update can only be told by its `-U`.
    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        true
    }

    fn required_distribution(&self, _input: usize) -> Distribution {
        Distribution::Any
    }

    fn partitions(&self, inputs: &[usize]) -> usize {
        inputs.iter().copied().max().unwrap_or(1)
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        let (partition, mut ports) = (task.partition, vec![]);
        for input in 0..task.inputs.len() {
            if partition < task.input_partitions(input) {
                ports.push(task.input(input)?);
            }
        }
        task.run_over(Union { schema: Arc::clone(&self.schema) }, ports)
    }
}

struct Union {
    schema: SchemaRef,
}

impl Operator for Union {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        _cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        // the inputs may differ in the names and in the nullability of their columns
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), changes.batch().columns().to_vec())?;
        out.data(changes.with_batch(batch)?);
        Ok(())
    }
}
