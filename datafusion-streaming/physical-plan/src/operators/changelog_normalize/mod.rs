//! Changelogs by key as they should be: of upserts, or of sources that repeat changes.

mod rows;

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::SchemaRef;
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExpr;

use self::rows::KeyedRows;
use crate::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use crate::operators::mixed_rows::MixedRows;
use crate::runtime::{
    Context, Distribution, ElementStream, Operator, Output, StreamNode, StreamTask, StreamTraits,
};
use crate::state::StateTable;

/// Flink's ChangelogNormalize: keeps the last row of each key, from which it makes the old half of
/// updates and the content of deletions.
///
/// ```text
///   +I, +U    of a key not known +I; with other content than the last -U, +U; with the same nothing
///   -U        nothing
///   -D        of a known key: -D of the last row
/// ```
///
/// A filter is part of it, since a row that fails it is as good as deleted.
#[derive(Debug, Clone)]
pub struct ChangelogNormalizeNode {
    keys: Vec<usize>,
    filter: Option<Arc<dyn PhysicalExpr>>,
    schema: SchemaRef,
    update_before: bool,
}

impl ChangelogNormalizeNode {
    /// For rows of `schema` with the primary key `keys`.
    pub fn new(keys: Vec<usize>, schema: SchemaRef) -> Self {
        ChangelogNormalizeNode { keys, filter: None, schema, update_before: true }
    }

    /// The node with a filter on top of it made part of it.
    pub fn filtered(&self, filter: Arc<dyn PhysicalExpr>) -> Option<Self> {
        self.filter.is_none().then(|| ChangelogNormalizeNode { filter: Some(filter), ..self.clone() })
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + use<>> {
        let rows = KeyedRows::try_new(Arc::clone(&self.schema), self.keys.clone())?;
        Ok(ChangelogNormalize { node: self.clone(), rows })
    }
}

impl StreamNode for ChangelogNormalizeNode {
    fn name(&self) -> &'static str {
        "ChangelogNormalize"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.keys.iter().map(|key| self.schema.field(*key).name().as_str()).collect();
        write!(f, "key=[{}]", keys.join(", "))?;
        match &self.filter {
            Some(filter) => write!(f, ", where=[{filter}]"),
            None => Ok(()),
        }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let mode = match self.update_before {
            true => ChangelogMode::ALL,
            false => ChangelogMode::UPSERT,
        };
        Ok(StreamTraits {
            mode,
            upsert_keys: vec![self.keys.clone()],
            monotonicity: vec![],
            ..inputs[0].clone()
        })
    }

    fn required_distribution(&self, _input: usize) -> Distribution {
        Distribution::Hash(self.keys.clone())
    }

    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        false
    }

    fn with_update_before(&self, needed: bool) -> Option<Arc<dyn StreamNode>> {
        (needed != self.update_before).then(|| {
            Arc::new(ChangelogNormalizeNode { update_before: needed, ..self.clone() }) as Arc<dyn StreamNode>
        })
    }

    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.filter.iter().collect()
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run_node(self, Self::operator)
    }
}

struct ChangelogNormalize {
    node: ChangelogNormalizeNode,
    rows: KeyedRows,
}

impl Operator for ChangelogNormalize {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        _cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let columns = changes.batch().columns();
        let slots = self.rows.intern(columns, changes.num_rows())?;
        let encoded = self.rows.encode(columns)?;
        let kept = match &self.node.filter {
            Some(filter) => Some(filter.evaluate(changes.batch())?.into_array(changes.num_rows())?),
            None => None,
        };
        let kept = kept.as_ref().map(|mask| mask.as_boolean());

        let mut emission = MixedRows::default();
        for (row, slot) in slots.iter().enumerate() {
            let kind = changes.kind(row);
            let last = self.rows.get(*slot);
            let passes = kept.is_none_or(|mask| mask.is_valid(row) && mask.value(row));
            match (kind, last) {
                (RowKind::UpdateBefore, _) => {}
                (RowKind::Insert | RowKind::UpdateAfter, None) if passes => {
                    emission.incoming(row, RowKind::Insert);
                    self.rows.set(*slot, encoded.get(row))?;
                }
                (RowKind::Insert | RowKind::UpdateAfter, Some(last)) if passes => {
                    if self.rows.equals(last, encoded.get(row)) {
                        continue;
                    }
                    if self.node.update_before {
                        emission.stored(last, RowKind::UpdateBefore);
                    }
                    emission.incoming(row, RowKind::UpdateAfter);
                    self.rows.set(*slot, encoded.get(row))?;
                }
                (_, Some(last)) => {
                    emission.stored(last, RowKind::Delete);
                    self.rows.clear(*slot);
                }
                (_, None) => {}
            }
        }
        let emitted = emission.finish(columns, |stored| self.rows.columns(stored), &self.node.schema)?;
        if let Some(emitted) = emitted {
            out.data(emitted);
        }
        self.rows.forget(slots);
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.rows]
    }
}

#[cfg(test)]
mod tests;
