//! Changelogs by another key than their own.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::interleave;
use arrow::datatypes::SchemaRef;
use datafusion_common::Result;

use crate::changelog::{ChangelogBatch, ChangelogMode, RowKind};
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
    pub fn operator(&self) -> Result<impl Operator + 'static> {
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
        task.run(self.operator()?)
    }
}

struct UpsertMaterialize {
    node: UpsertMaterializeNode,
    rows: RowLists,
}

/// Rows to emit, all of them rows that are or were kept.
#[derive(Default)]
struct Emission {
    /// Places in `stored`, or rows of the batch.
    places: Vec<(usize, usize)>,
    stored: Vec<u32>,
    kinds: Vec<RowKind>,
}

const INCOMING: usize = 0;
const STORED: usize = 1;

impl Emission {
    fn incoming(&mut self, row: usize, kind: RowKind) {
        self.places.push((INCOMING, row));
        self.kinds.push(kind);
    }

    fn stored(&mut self, id: u32, kind: RowKind) {
        self.places.push((STORED, self.stored.len()));
        self.stored.push(id);
        self.kinds.push(kind);
    }
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
        let mut emission = Emission::default();
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
        if !emission.kinds.is_empty() {
            let stored = self.rows.columns(&emission.stored)?;
            let column = |place: usize| -> Result<ArrayRef> {
                let arrays = [columns[place].as_ref(), stored[place].as_ref()];
                Ok(interleave(&arrays, &emission.places)?)
            };
            let output = (0..columns.len()).map(column).collect::<Result<Vec<_>>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(emission.kinds.len()));
            let batch = RecordBatch::try_new_with_options(Arc::clone(&self.node.schema), output, &options)?;
            out.data(ChangelogBatch::try_new(batch, emission.kinds.into())?);
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
