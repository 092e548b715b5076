//! The exchange: every row to the partition that owns its key.
//!
//! ```text
//!   input 0 ──pump──┬─▶ channel 0→0 ─┐
//!                   └─▶ channel 0→1 ─┼┐      each output partition merges its channels: the
//!   input 1 ──pump──┬─▶ channel 1→0 ─┘│      driver takes the least watermark and aligns the
//!                   └─▶ channel 1→1 ──┘      barriers of all inputs
//! ```

mod channels;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::Result;
use parking_lot::Mutex;

use self::channels::{Receivers, start_pumps};
use crate::changelog::ChangelogBatch;
use crate::runtime::{
    Context, Distribution, ElementStream, Operator, Output, StreamNode, StreamTask, StreamTraits,
};

/// Spreads rows over partitions by the key group of their key columns, or gathers all rows in one.
/// Watermarks and barriers go to every partition.
pub struct ExchangeNode {
    distribution: Distribution,
    partitions: usize,
    schema: SchemaRef,
    /// The receivers that have been made but not started, by execution (the address of its task
    /// context, which the channels keep alive).
    started: Mutex<HashMap<usize, Receivers>>,
}

impl ExchangeNode {
    /// An exchange of rows of `schema` to this many partitions.
    pub fn new(distribution: Distribution, partitions: usize, schema: SchemaRef) -> Self {
        ExchangeNode { distribution, partitions, schema, started: Mutex::default() }
    }
}

impl fmt::Debug for ExchangeNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExchangeNode")
            .field("distribution", &self.distribution)
            .field("partitions", &self.partitions)
            .finish_non_exhaustive()
    }
}

impl StreamNode for ExchangeNode {
    fn name(&self) -> &'static str {
        "Exchange"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.distribution {
            Distribution::Hash(key) => {
                let names: Vec<_> =
                    key.iter().map(|column| self.schema.field(*column).name().as_str()).collect();
                write!(f, "distribution=[hash[{}]], partitions=[{}]", names.join(", "), self.partitions)
            }
            Distribution::Single | Distribution::Any => f.write_str("distribution=[single]"),
        }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        Ok(inputs[0].clone())
    }

    fn partitions(&self, _inputs: &[usize]) -> usize {
        self.partitions
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        let receivers = {
            let mut started = self.started.lock();
            let execution = Arc::as_ptr(&task.context) as usize;
            let untaken = started.remove(&execution).filter(|receivers| receivers.is_untaken(task.partition));
            let mut receivers = match untaken {
                Some(receivers) => receivers,
                None => start_pumps(&self.distribution, self.partitions, &task)?,
            };
            let taken = receivers.take(task.partition);
            if !receivers.is_empty() {
                started.insert(execution, receivers);
            }
            taken
        };
        task.run_over(PassThrough, receivers)
    }
}

struct PassThrough;

impl Operator for PassThrough {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        _cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        out.data(changes.clone());
        Ok(())
    }
}
