//! The final table: what a changelog that ends leaves behind, as plain rows.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Int64Type, SchemaRef};
use datafusion_common::{Result, internal_err};

use crate::changelog::{ChangelogBatch, ChangelogMode};
use crate::runtime::{
    Context, Distribution, ElementStream, Flush, Operator, Output, StreamNode, StreamTask, StreamTraits,
    TableSnapshot,
};
use crate::state::{KeyInterner, StateTable, distinct_where};

/// Folds a changelog into the multiset of rows that is there at its end, in the order in which the
/// rows came. What `collect()` reads of a changing query over bounded tables.
#[derive(Debug, Clone)]
pub struct FinalTableNode {
    schema: SchemaRef,
}

impl FinalTableNode {
    /// For changelogs of this schema.
    pub fn new(schema: SchemaRef) -> Self {
        FinalTableNode { schema }
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + use<>> {
        let types: Vec<_> = self.schema.fields().iter().map(|field| field.data_type().clone()).collect();
        let rows = RowCounts {
            schema: Arc::clone(&self.schema),
            keys: KeyInterner::try_new(&types)?,
            counts: vec![],
        };
        Ok(FinalTable { rows })
    }
}

impl StreamNode for FinalTableNode {
    fn name(&self) -> &'static str {
        "FinalTable"
    }

    fn fmt_arguments(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        Ok(StreamTraits { mode: ChangelogMode::INSERT_ONLY, ..inputs[0].clone() })
    }

    fn required_distribution(&self, _input: usize) -> Distribution {
        Distribution::Single
    }

    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        true
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run_node(self, Self::operator)
    }
}

struct FinalTable {
    rows: RowCounts,
}

/// How often each row is in the table. A retraction may come before its row, so counts may be
/// negative.
struct RowCounts {
    schema: SchemaRef,
    keys: KeyInterner,
    counts: Vec<i64>,
}

impl Operator for FinalTable {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        _cx: &mut Context<'_>,
        _out: &mut Output,
    ) -> Result<()> {
        let mut slots = vec![];
        self.rows.keys.intern(changes.batch().columns(), changes.num_rows(), &mut slots)?;
        self.rows.counts.resize(self.rows.keys.slots(), 0);
        let mut gone = vec![];
        for (row, slot) in slots.iter().enumerate() {
            let count = &mut self.rows.counts[*slot as usize];
            *count += if changes.kind(row).is_retraction() { -1 } else { 1 };
            if *count == 0 {
                gone.push(*slot);
            }
        }
        self.rows.keys.release(&distinct_where(gone, |slot| self.rows.counts[slot as usize] == 0));
        Ok(())
    }

    fn flush(&mut self, why: Flush, _cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        if why != Flush::End {
            return Ok(());
        }
        let live = self.rows.keys.live_slots();
        let times = |slot: &u32| {
            let count = self.rows.counts.get(*slot as usize).copied().unwrap_or(0);
            std::iter::repeat_n(*slot, usize::try_from(count).unwrap_or(0))
        };
        let slots: Vec<u32> = live.iter().flat_map(times).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(slots.len()));
        let columns = self.rows.keys.columns(&slots)?;
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.rows.schema), columns, &options)?;
        out.data(ChangelogBatch::insert_only(batch));
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.rows]
    }
}

impl StateTable for RowCounts {
    fn name(&self) -> &str {
        "rows"
    }

    fn memory_size(&self) -> usize {
        self.keys.memory_size() + self.counts.capacity() * size_of::<i64>()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let live = self.keys.live_slots();
        let counts = live.iter().map(|slot| self.counts.get(*slot as usize).copied().unwrap_or(0));
        let counts: ArrayRef = Arc::new(Int64Array::from_iter_values(counts));
        let columns = std::iter::once(("$count".to_string(), counts)).chain(
            self.schema.fields().iter().map(|field| field.name().clone()).zip(self.keys.columns(&live)?),
        );
        let rows = RecordBatch::try_from_iter(columns)?;
        Ok(TableSnapshot { name: self.name().to_string(), keyed: false, rows })
    }

    fn restore(&mut self, rows: &RecordBatch) -> Result<()> {
        let Some((counts, columns)) = rows.columns().split_first() else {
            return internal_err!("the snapshot of the final table has no counts");
        };
        let mut slots = vec![];
        self.keys.intern(columns, rows.num_rows(), &mut slots)?;
        self.counts.resize(self.keys.slots(), 0);
        for (slot, count) in slots.iter().zip(counts.as_primitive::<Int64Type>().values()) {
            self.counts[*slot as usize] = *count;
        }
        Ok(())
    }
}
