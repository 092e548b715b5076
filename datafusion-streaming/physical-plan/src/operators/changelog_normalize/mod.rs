//! Changelogs by key as they should be: of upserts, or of sources that repeat changes.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExpr;

use crate::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use crate::operators::row_changes::RowChanges;
use crate::runtime::{
    Context, Distribution, ElementStream, Operator, Output, StreamNode, StreamTask, StreamTraits,
    TableSnapshot,
};
use crate::state::{Evictable, LastRows, StateTable, keyed_snapshot, split_extra};

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
        let rows = LastRows::try_new(Arc::clone(&self.schema), self.keys.clone())?;
        Ok(ChangelogNormalize { node: self.clone(), rows: KeyedRows(rows) })
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
        let batch = changes.batch();
        let rows = &mut self.rows.0;
        let slots = rows.intern(batch)?;
        let kept = match &self.node.filter {
            Some(filter) => Some(filter.evaluate(batch)?.into_array(changes.num_rows())?),
            None => None,
        };
        let kept = kept.as_ref().map(|mask| mask.as_boolean());

        let mut emitted = RowChanges::default();
        rows.store.open(batch);
        for (row, slot) in slots.iter().enumerate() {
            let last = rows.place(*slot);
            let passes = kept.is_none_or(|mask| mask.is_valid(row) && mask.value(row));
            match (changes.kind(row), last) {
                (RowKind::UpdateBefore, _) => {}
                (RowKind::Insert | RowKind::UpdateAfter, last) if passes => {
                    let place = rows.store.place_in_batch(row);
                    match last {
                        Some(last) => emitted.push_update_unless_equal(last, place, self.node.update_before),
                        None => emitted.push(RowKind::Insert, place),
                    }
                    rows.set(*slot, row);
                }
                (_, Some(last)) => {
                    emitted.push(RowKind::Delete, last);
                    rows.clear(*slot);
                }
                (_, None) => {}
            }
        }
        // what equals the last row is kept in its stead, and nothing is told of it
        let all: Vec<usize> = (0..batch.num_columns()).collect();
        let emitted = emitted.without_repetitions(&rows.store, &all);
        if let Some(emitted) = emitted.finish(&rows.store, &self.node.schema)? {
            out.data(emitted);
        }
        rows.forget(slots)
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.rows]
    }
}

/// The table of the last rows.
struct KeyedRows(LastRows);

impl StateTable for KeyedRows {
    fn name(&self) -> &str {
        "rows"
    }

    fn memory_size(&self) -> usize {
        self.0.memory_size()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        keyed_snapshot(self.name(), &self.0.keys, &self.0.rows(&self.0.live_slots())?, vec![])
    }

    fn restore(&mut self, saved: &RecordBatch) -> Result<()> {
        let (batch, _) = split_extra(saved, self.0.store.schema(), 0)?;
        let slots = self.0.intern(&batch)?;
        self.0.store.open(&batch);
        slots.into_iter().enumerate().for_each(|(row, slot)| self.0.set(slot, row));
        self.0.forget([])
    }

    fn evictable(&self) -> Option<Evictable> {
        Some(Evictable { keys: self.0.keys.clone(), ttl: 0 })
    }
}

#[cfg(test)]
mod tests;
