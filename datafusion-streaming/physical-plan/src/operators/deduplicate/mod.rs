//! Deduplication: of the rows of a key, the first or the last by time.
//!
//! ```text
//!                 keep first                           keep last
//!   rowtime       held until the watermark passes      +I, then -U +U for every row that is not older
//!                 it; append-only; late rows dropped   (late rows count)
//!   proctime      +I of the first row of a key         +I, then -U +U for every row that differs
//! ```
//!
//! With mini-batch, of the rows of a key that come in one bundle only the one that is left is looked at:
//! by processing time always, by rowtime where the changes between are not asked for.

mod bundled;
mod by_key;
mod first;
mod key_times;
mod last;

use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion_common::Result;

use self::bundled::BundledDeduplicate;
use self::by_key::KeptByKey;
use self::first::RowtimeFirst;
use self::last::KeepLast;
use crate::changelog::{ChangelogMode, RowKind};
use crate::operators::aggregate::Bundling;
use crate::runtime::{
    Distribution, ElementStream, Operator, StreamNode, StreamTask, StreamTraits, TimeAttributeKind,
};
use crate::state::KeyInterner;

/// Which row of a key is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The first by time.
    First,
    /// The last by time.
    Last,
}

/// Flink's Deduplicate: `ROW_NUMBER() OVER (PARTITION BY keys ORDER BY time) = 1` on appends.
#[derive(Debug, Clone)]
pub struct DeduplicateNode {
    keys: Vec<usize>,
    time: usize,
    kind: TimeAttributeKind,
    keep: Keep,
    schema: SchemaRef,
    update_before: bool,
    ttl: i64,
    bundling: Option<Bundling>,
}

impl DeduplicateNode {
    /// Keeps one row of each key of rows of `schema`, by the time attribute `time` of this kind. State
    /// that is not written for `ttl` milliseconds is forgotten; 0: never.
    pub fn new(
        keys: Vec<usize>,
        time: usize,
        kind: TimeAttributeKind,
        keep: Keep,
        schema: SchemaRef,
        ttl: i64,
    ) -> Self {
        DeduplicateNode { keys, time, kind, keep, schema, update_before: true, ttl, bundling: None }
    }

    /// The node with mini-batch. By rowtime every change is put out as without, unless `compacting`
    /// (Flink's `table.exec.deduplicate.mini-batch.compact-changes-enabled`): then that of a bundle is.
    pub fn with_bundling(self, bundling: Bundling, compacting: bool) -> Self {
        let is_bundled = match (self.keep, self.is_rowtime()) {
            (_, false) => true,
            (Keep::Last, true) => compacting,
            // it waits for the watermark anyway
            (Keep::First, true) => false,
        };
        DeduplicateNode { bundling: is_bundled.then_some(bundling), ..self }
    }

    fn is_rowtime(&self) -> bool {
        self.kind == TimeAttributeKind::Rowtime
    }

    fn interner(&self) -> Result<KeyInterner> {
        let types: Vec<DataType> =
            self.keys.iter().map(|key| self.schema.field(*key).data_type().clone()).collect();
        KeyInterner::try_new(&types)
    }

    fn key_columns(&self, columns: &[ArrayRef]) -> Vec<ArrayRef> {
        self.keys.iter().map(|key| Arc::clone(&columns[*key])).collect()
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<Box<dyn Operator>> {
        let each: Box<dyn Operator> = match (self.keep, self.is_rowtime()) {
            (Keep::First, true) => Box::new(RowtimeFirst::try_new(self.clone())?),
            (Keep::First, false) => Box::new(KeptByKey::first(self.clone())?),
            (Keep::Last, true) if !self.update_before => Box::new(KeptByKey::last(self.clone())?),
            (Keep::Last, _) => Box::new(KeepLast::try_new(self.clone())?),
        };
        Ok(match self.bundling {
            Some(bundling) => Box::new(BundledDeduplicate::new(self.clone(), each, bundling)),
            None => each,
        })
    }
}

impl StreamNode for DeduplicateNode {
    fn name(&self) -> &'static str {
        "Deduplicate"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.keys.iter().map(|key| self.schema.field(*key).name().as_str()).collect();
        let keep = match self.keep {
            Keep::First => "FirstRow",
            Keep::Last => "LastRow",
        };
        let order = if self.is_rowtime() { "ROWTIME" } else { "PROCTIME" };
        write!(f, "keep=[{keep}], key=[{}], order=[{order}]", keys.join(", "))?;
        if let Some(bundling) = &self.bundling {
            write!(f, ", mini_batch=[{bundling}]")?;
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
        if self.keep == Keep::Last {
            mode = mode.with(RowKind::UpdateAfter);
            if self.update_before {
                mode = mode.with(RowKind::UpdateBefore);
            }
        }
        Ok(StreamTraits {
            mode,
            upsert_keys: vec![self.keys.clone()],
            monotonicity: vec![],
            ..inputs[0].clone()
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
        (self.keep == Keep::Last && needed != self.update_before).then(|| {
            Arc::new(DeduplicateNode { update_before: needed, ..self.clone() }) as Arc<dyn StreamNode>
        })
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run_node(self, Self::operator)
    }
}

#[cfg(test)]
mod tests;
