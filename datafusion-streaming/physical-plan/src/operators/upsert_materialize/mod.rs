//! Changelogs by another key than their own.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::Result;

use crate::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use crate::operators::mixed_rows::MixedRows;
use crate::runtime::{
    Context, Distribution, ElementStream, Operator, Output, StreamNode, StreamTask, StreamTraits,
};
use crate::state::{RowLists, StateTable};

/// Flink's SinkUpsertMaterializer: makes a changelog of a table whose rows come under a key that does
/// not identify them, so that several rows of the input may have the same key: of these the last that
/// came and is still there is the table's.
///
/// ```text
///   a row comes     +I of it if it is the only one of its key, else -U of the last one, +U of it
///   a row goes      the last one: -U of it, +U of the one before it, or -D if it was the only one
///                   another: nothing
/// ```
#[derive(Debug, Clone)]
pub struct UpsertMaterializeNode {
    keys: Vec<usize>,
    schema: SchemaRef,
    update_before: bool,
}

impl UpsertMaterializeNode {
    /// For rows of `schema` in a table with the primary key `keys`.
    pub fn new(keys: Vec<usize>, schema: SchemaRef) -> Self {
        UpsertMaterializeNode { keys, schema, update_before: true }
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + use<>> {
        let rows = RowLists::try_new(Arc::clone(&self.schema), self.keys.clone())?;
        Ok(UpsertMaterialize { node: self.clone(), rows })
    }
}

impl StreamNode for UpsertMaterializeNode {
    fn name(&self) -> &'static str {
        "UpsertMaterialize"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.keys.iter().map(|key| self.schema.field(*key).name().as_str()).collect();
        write!(f, "key=[{}]", keys.join(", "))
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let mode = match self.update_before {
            true => ChangelogMode::ALL,
            false => ChangelogMode::UPSERT,
        };
        let upsert_keys = vec![self.keys.clone()];
        Ok(StreamTraits { mode, upsert_keys, monotonicity: vec![], ..inputs[0].clone() })
    }

    fn required_distribution(&self, _input: usize) -> Distribution {
        Distribution::Hash(self.keys.clone())
    }

    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        true
    }

    fn with_update_before(&self, needed: bool) -> Option<Arc<dyn StreamNode>> {
        (needed != self.update_before).then(|| {
            Arc::new(UpsertMaterializeNode { update_before: needed, ..self.clone() }) as Arc<dyn StreamNode>
        })
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run_node(self, Self::operator)
    }
}

struct UpsertMaterialize {
    node: UpsertMaterializeNode,
    rows: RowLists,
}

impl Operator for UpsertMaterialize {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let columns = changes.batch().columns();
        let slots = self.rows.intern(columns, changes.num_rows())?;
        let encoded = self.rows.encode(columns)?;
        let mut emission = MixedRows::default();
        for (row, slot) in slots.iter().enumerate() {
            let list = self.rows.list(*slot);
            let last = list.last().copied();
            if !changes.kind(row).is_retraction() {
                let kind = if last.is_some() { RowKind::UpdateAfter } else { RowKind::Insert };
                if let Some(last) = last.filter(|_| self.node.update_before) {
                    emission.stored(last, RowKind::UpdateBefore);
                }
                emission.incoming(row, kind);
                self.rows.push(*slot, encoded.get(row))?;
                continue;
            }
            let Some(place) = self.rows.place_of(*slot, encoded.get(row)) else {
                cx.metrics.ignored_retractions.add(1);
                continue;
            };
            let before = place.checked_sub(1).map(|before| list[before]);
            if place + 1 == list.len() {
                match before {
                    None => emission.incoming(row, RowKind::Delete),
                    Some(before) => {
                        if self.node.update_before {
                            emission.incoming(row, RowKind::UpdateBefore);
                        }
                        emission.stored(before, RowKind::UpdateAfter);
                    }
                }
            }
            self.rows.remove(*slot, place);
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
