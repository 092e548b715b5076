//! ORDER BY rowtime: rows leave in the order of their times as the watermark passes them.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch, UInt32Array};
use arrow::compute::{SortOptions, take_record_batch};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion_common::{Result, exec_err, plan_err};

use crate::changelog::ChangelogBatch;
use crate::runtime::{
    Context, Distribution, ElementStream, Operator, Output, StreamNode, StreamTask, StreamTraits,
    TableSnapshot,
};
use crate::state::{
    RowId, RowStore, SortKeys, StateTable, TimeQueue, ValueTable, keyed_snapshot, split_extra,
};
use crate::time::{Watermark, millis_of};

/// Flink's TemporalSort: by the rowtime, then by other columns, then by arrival. A row that is not newer
/// than the last that was sent is late: it is dropped and counted.
#[derive(Debug, Clone)]
pub struct TemporalSortNode {
    time: usize,
    then_by: Vec<(usize, SortOptions)>,
    schema: SchemaRef,
}

impl TemporalSortNode {
    /// Sorts rows of `schema` by the rowtime `time`, and rows of equal times by the columns `then_by`.
    pub fn new(time: usize, then_by: Vec<(usize, SortOptions)>, schema: SchemaRef) -> Self {
        TemporalSortNode { time, then_by, schema }
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + use<>> {
        let types: Vec<DataType> =
            self.schema.fields().iter().map(|field| field.data_type().clone()).collect();
        Ok(TemporalSort {
            keys: SortKeys::try_new(self.then_by.clone(), &types)?,
            waiting: Waiting {
                time: self.time,
                store: RowStore::new(Arc::clone(&self.schema)),
                queue: TimeQueue::new(),
            },
            last_sent: ValueTable::new("last_sent", i64::MIN),
            node: self.clone(),
        })
    }
}

impl StreamNode for TemporalSortNode {
    fn name(&self) -> &'static str {
        "TemporalSort"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "order=[{}", self.schema.field(self.time).name())?;
        for (column, options) in &self.then_by {
            write!(f, ", {} {options}", self.schema.field(*column).name())?;
        }
        f.write_str("]")
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        if !inputs[0].mode.is_insert_only() {
            return plan_err!(
                "ORDER BY the rowtime {} takes only inserts, but its input gives updates or deletes (mode=[{}]); \
                 leave the ORDER BY out, or add a LIMIT",
                self.schema.field(self.time).name(),
                inputs[0].mode
            );
        }
        Ok(inputs[0].clone())
    }

    fn required_distribution(&self, _input: usize) -> Distribution {
        Distribution::Single
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run_node(self, Self::operator)
    }
}

struct TemporalSort {
    node: TemporalSortNode,
    keys: SortKeys,
    waiting: Waiting,
    /// The time of the last row that was sent.
    last_sent: ValueTable,
}

/// Rows that the watermark has not passed.
struct Waiting {
    time: usize,
    store: RowStore,
    queue: TimeQueue<RowId>,
}

impl Waiting {
    fn add(&mut self, batch: &RecordBatch, from: i64, late: &mut usize) -> Result<()> {
        let column = batch.column(self.time);
        if column.null_count() > 0 {
            return exec_err!(
                "the rowtime {} is NULL in a row; filter such rows out before ORDER BY",
                self.store.schema().field(self.time).name()
            );
        }
        self.store.open(batch);
        for (row, time) in millis_of(column)?.iter().enumerate() {
            if *time > from {
                let id = self.store.add(row);
                self.queue.push(*time, id);
            } else {
                *late += 1;
            }
        }
        self.store.close()
    }
}

impl Operator for TemporalSort {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        _out: &mut Output,
    ) -> Result<()> {
        let mut late = 0;
        self.waiting.add(changes.batch(), self.last_sent.value, &mut late)?;
        cx.metrics.late_rows.add(late);
        Ok(())
    }

    fn on_watermark(&mut self, watermark: Watermark, _cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        let (times, ids): (Vec<i64>, Vec<RowId>) = self.waiting.queue.pop_until(watermark.0).unzip();
        if let Some(last) = times.last() {
            self.last_sent.value = *last;
            let mut rows = self.waiting.store.rows(&ids)?;
            for id in &ids {
                self.waiting.store.remove(*id);
            }
            self.waiting.store.close()?;
            if !self.node.then_by.is_empty() && times.windows(2).any(|pair| pair[0] == pair[1]) {
                let keys = self.keys.encode(rows.columns(), rows.num_rows())?;
                let mut order: Vec<u32> = (0..rows.num_rows() as u32).collect();
                let key = |row: u32| (times[row as usize], keys.row(row as usize));
                order.sort_by(|left, right| key(*left).cmp(&key(*right)));
                rows = take_record_batch(&rows, &UInt32Array::from(order))?;
            }
            out.data(ChangelogBatch::insert_only(rows));
        }
        out.watermark(watermark);
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.waiting, &mut self.last_sent]
    }
}

impl StateTable for Waiting {
    fn name(&self) -> &str {
        "waiting"
    }

    fn memory_size(&self) -> usize {
        self.store.memory_size() + self.queue.memory_size()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let ids: Vec<RowId> = self.queue.iter().map(|(_, id)| *id).collect();
        keyed_snapshot(self.name(), &[], &self.store.rows(&ids)?, vec![])
    }

    fn restore(&mut self, saved: &RecordBatch) -> Result<()> {
        let (batch, _) = split_extra(saved, &Arc::clone(self.store.schema()), 0)?;
        self.add(&batch, i64::MIN, &mut 0)
    }
}

#[cfg(test)]
mod tests;
