//! INTERSECT ALL and EXCEPT ALL.
//!
//! ```text
//!   INTERSECT ALL   a row is there min(left, right) times
//!   EXCEPT ALL      a row is there max(left - right, 0) times
//! ```
//!
//! The set operations without ALL are joins: semi and anti.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, UInt16Array};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use datafusion_common::{Result, internal_err};

use crate::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use crate::runtime::{
    Context, Distribution, ElementStream, Operator, Output, StreamNode, StreamTask, StreamTraits,
    TableSnapshot,
};
use crate::state::key_group::key_groups;
use crate::state::{Evictable, KeyInterner, StateTable, distinct_where};

/// The set operations that count rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd)]
pub enum SetOperation {
    /// INTERSECT ALL.
    IntersectAll,
    /// EXCEPT ALL.
    ExceptAll,
}

impl SetOperation {
    /// How often a row is in the result.
    fn times(self, [left, right]: [i64; 2]) -> i64 {
        match self {
            SetOperation::IntersectAll => left.min(right).max(0),
            SetOperation::ExceptAll => (left - right.max(0)).max(0),
        }
    }
}

impl fmt::Display for SetOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SetOperation::IntersectAll => "INTERSECT ALL",
            SetOperation::ExceptAll => "EXCEPT ALL",
        })
    }
}

/// INTERSECT ALL or EXCEPT ALL of two changelogs. A change of an input adds a row to the result or
/// takes one away, or does nothing.
#[derive(Debug, Clone)]
pub struct SetOperationNode {
    operation: SetOperation,
    schema: SchemaRef,
}

impl SetOperationNode {
    /// For two inputs whose columns have the types in `schema`.
    pub fn new(operation: SetOperation, schema: SchemaRef) -> Self {
        SetOperationNode { operation, schema }
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + use<>> {
        let types: Vec<_> = self.schema.fields().iter().map(|field| field.data_type().clone()).collect();
        let rows = RowCounts {
            schema: Arc::clone(&self.schema),
            keys: KeyInterner::try_new(&types)?,
            counts: vec![],
        };
        Ok(Counting { node: self.clone(), rows })
    }
}

impl StreamNode for SetOperationNode {
    fn name(&self) -> &'static str {
        "SetOperation"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation=[{}]", self.operation)
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let appends = inputs.iter().all(|input| input.mode.is_insert_only());
        let mode = match self.operation {
            SetOperation::IntersectAll if appends => ChangelogMode::INSERT_ONLY,
            _ => ChangelogMode::INSERT_ONLY.with(RowKind::Delete),
        };
        Ok(StreamTraits { mode, ..StreamTraits::default() })
    }

    fn required_distribution(&self, _input: usize) -> Distribution {
        match self.schema.fields().len() {
            0 => Distribution::Single,
            columns => Distribution::Hash((0..columns).collect()),
        }
    }

    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        true
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run_node(self, Self::operator)
    }
}

struct Counting {
    node: SetOperationNode,
    rows: RowCounts,
}

impl Operator for Counting {
    fn process(
        &mut self,
        port: usize,
        changes: &ChangelogBatch,
        _cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let slots = self.rows.intern(changes.batch().columns(), changes.num_rows())?;
        let (mut rows, mut kinds, mut gone) = (vec![], vec![], vec![]);
        for (row, slot) in slots.iter().enumerate() {
            let counts = &mut self.rows.counts[*slot as usize];
            let before = self.node.operation.times(*counts);
            counts[port] += if changes.kind(row).is_retraction() { -1 } else { 1 };
            let after = self.node.operation.times(*counts);
            if *counts == [0, 0] {
                gone.push(*slot);
            }
            if before != after {
                rows.push(row as u32);
                kinds.push(if after > before { RowKind::Insert } else { RowKind::Delete });
            }
        }
        self.rows.keys.release(&distinct_where(gone, |slot| self.rows.counts[slot as usize] == [0, 0]));
        // whichever input it is of, the row is the one that is put out
        let (batch, _) = changes.take(&rows)?.into_parts();
        let batch = RecordBatch::try_new(Arc::clone(&self.node.schema), batch.columns().to_vec())?;
        out.data(ChangelogBatch::try_new(batch, kinds.into())?);
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.rows]
    }
}

/// How often each row is in the left and in the right input.
struct RowCounts {
    schema: SchemaRef,
    keys: KeyInterner,
    counts: Vec<[i64; 2]>,
}

impl RowCounts {
    fn intern(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Vec<u32>> {
        let mut slots = vec![];
        self.keys.intern(columns, rows, &mut slots)?;
        self.counts.resize(self.keys.slots(), [0, 0]);
        Ok(slots)
    }
}

impl StateTable for RowCounts {
    fn name(&self) -> &str {
        "rows"
    }

    fn memory_size(&self) -> usize {
        self.keys.memory_size() + self.counts.capacity() * size_of::<[i64; 2]>()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let mut live = self.keys.live_slots();
        live.retain(|slot| self.counts.get(*slot as usize).is_some_and(|counts| *counts != [0, 0]));
        let columns = self.keys.columns(&live)?;
        let mut fields = vec![Arc::new(Field::new("key_group", DataType::UInt16, false))];
        let mut saved: Vec<ArrayRef> = vec![Arc::new(UInt16Array::from(key_groups(&columns, live.len())?))];
        for (port, name) in ["$left", "$right"].into_iter().enumerate() {
            let counts = live.iter().map(|slot| self.counts[*slot as usize][port]);
            fields.push(Arc::new(Field::new(name, DataType::Int64, false)));
            saved.push(Arc::new(Int64Array::from_iter_values(counts)));
        }
        fields.extend(self.schema.fields().iter().map(|field| {
            // either input may have a NULL where the other declares none
            Arc::new(field.as_ref().clone().with_nullable(true))
        }));
        saved.extend(columns);
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), saved)?;
        Ok(TableSnapshot { name: self.name().to_string(), keyed: true, rows })
    }

    fn restore(&mut self, rows: &RecordBatch) -> Result<()> {
        let [left, right, columns @ ..] = rows.columns() else {
            return internal_err!("the snapshot of a set operation lacks its counts");
        };
        let slots = self.intern(columns, rows.num_rows())?;
        let (left, right) = (left.as_primitive::<Int64Type>(), right.as_primitive::<Int64Type>());
        for (row, slot) in slots.iter().enumerate() {
            self.counts[*slot as usize] = [left.value(row), right.value(row)];
        }
        Ok(())
    }

    fn evictable(&self) -> Option<Evictable> {
        // behind the two counts
        Some(Evictable { keys: (2..2 + self.schema.fields().len()).collect(), ttl: 0 })
    }
}
