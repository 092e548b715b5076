//! GROUPING SETS: each row once for every set.
//!
//! ```text
//!   GROUP BY GROUPING SETS ((region), ())       region  grouping_id │ qty
//!                                               n       0           │ 1
//!   region n, qty 1                  ──▶        NULL    1           │ 1
//! ```
//!
//! The columns that are grouped by come first, NULL where a set lacks them; then the number of the
//! set, which keeps a NULL of the data apart from one of a set; then the columns that aggregates
//! read, as they are.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, UInt64Array};
use arrow::compute::{cast, take};
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion_common::Result;

use crate::changelog::ChangelogBatch;
use crate::runtime::{Context, ElementStream, Operator, Output, StreamNode, StreamTask, StreamTraits};

/// A set of group columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupingSet {
    /// For each group column, whether it is NULL in this set.
    pub nulls: Vec<bool>,
    /// The number of the set.
    pub id: u64,
}

/// Flink's Expand. Of an update both halves are expanded, each as a whole.
#[derive(Debug, Clone)]
pub struct ExpandNode {
    group: Vec<usize>,
    sets: Vec<GroupingSet>,
    kept: Vec<usize>,
    input: SchemaRef,
    schema: SchemaRef,
}

impl ExpandNode {
    /// Expands rows of `input`, which are grouped by the columns `group`, by `sets`. `id` is the field
    /// of the set's number, an unsigned integer. The columns `kept` follow it.
    pub fn new(
        group: Vec<usize>,
        sets: Vec<GroupingSet>,
        id: Field,
        kept: Vec<usize>,
        input: SchemaRef,
    ) -> Self {
        let nullable = |column: &usize| input.field(*column).clone().with_nullable(true);
        let fields = group.iter().map(nullable).chain([id]);
        let fields = fields.chain(kept.iter().map(|column| input.field(*column).clone()));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        ExpandNode { group, sets, kept, input, schema }
    }

    /// The operator of the node.
    pub fn operator(&self) -> impl Operator + use<> {
        Expand { node: self.clone() }
    }
}

impl StreamNode for ExpandNode {
    fn name(&self) -> &'static str {
        "Expand"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = |set: &GroupingSet| {
            let columns = self.group.iter().zip(&set.nulls).filter(|(_, null)| !**null);
            let names: Vec<_> =
                columns.map(|(column, _)| self.input.field(*column).name().as_str()).collect();
            format!("({})", names.join(", "))
        };
        write!(f, "sets=[{}]", self.sets.iter().map(set).collect::<Vec<_>>().join(", "))
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let first = self.group.len() + 1;
        let mut traits = inputs[0].project(self.schema.fields().len(), |column| {
            // a group column that is in every set is as it was
            let grouped = self.group.iter().position(|group| *group == column);
            let grouped = grouped.filter(|place| self.sets.iter().all(|set| !set.nulls[*place]));
            let kept = self.kept.iter().position(|kept| *kept == column).map(|place| first + place);
            grouped.into_iter().chain(kept).collect()
        });
        // a row comes once for each set
        traits.upsert_keys.clear();
        Ok(traits)
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run(self.operator())
    }
}

struct Expand {
    node: ExpandNode,
}

impl Operator for Expand {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        _cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let node = &self.node;
        let sets = node.sets.len();
        let rows: Vec<u32> =
            (0..changes.num_rows() as u32).flat_map(|row| std::iter::repeat_n(row, sets)).collect();
        let mut columns: Vec<ArrayRef> = vec![];
        for (place, column) in node.group.iter().enumerate() {
            let row_of = |(set, row): (&GroupingSet, &u32)| (!set.nulls[place]).then_some(*row);
            let rows: UInt32Array = node.sets.iter().cycle().zip(&rows).map(row_of).collect();
            columns.push(take(changes.batch().column(*column), &rows, None)?);
        }
        let ids = UInt64Array::from_iter_values(node.sets.iter().cycle().zip(&rows).map(|(set, _)| set.id));
        columns.push(cast(&ids, node.schema.field(node.group.len()).data_type())?);
        let repeated = changes.take(&rows)?;
        columns.extend(node.kept.iter().map(|column| Arc::clone(repeated.batch().column(*column))));
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&node.schema), columns, &options)?;
        out.data(repeated.with_batch(batch)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
