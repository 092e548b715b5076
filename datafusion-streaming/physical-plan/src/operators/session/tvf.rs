//! The table function SESSION: rows with their session, once it is over.

use std::fmt;
use std::mem;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, UInt8Array, UInt16Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt8Type};
use datafusion_common::{Result, internal_err};

use super::sessions::Sessions;
use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::window_tvf::{WindowTvfNode, with_windows};
use crate::runtime::{
    Context, Distribution, ElementStream, Operator, Output, StreamNode, StreamTask, StreamTraits,
    TableSnapshot,
};
use crate::state::key_group::key_groups;
use crate::state::{RowBuffer, RowRef, StateTable};
use crate::time::{LocalZone, Watermark, WindowAssigner};

/// Appends `window_start`, `window_end` and `window_time` of its session to each row.
///
/// A session of a key is a run of rows, each at most the gap after the one before it; it ends a gap
/// after its last row. Rows wait until the watermark has passed the end of their session, and leave in
/// the order in which they came. A row is late, dropped and counted, if it joins no session that is
/// still open and its own would be over.
#[derive(Debug, Clone)]
pub struct SessionTvfNode {
    windows: WindowTvfNode,
    gap: i64,
    partition: Vec<usize>,
    input: SchemaRef,
    proctime: bool,
}

impl SessionTvfNode {
    /// Sessions, `gap` milliseconds apart, of rows of `input` that agree in the columns `partition`,
    /// by the timestamp column `time`. `zone` is the session's.
    pub fn try_new(
        time: usize,
        gap: i64,
        partition: Vec<usize>,
        zone: LocalZone,
        input: SchemaRef,
    ) -> Result<Self> {
        let windows = WindowTvfNode::try_new(time, WindowAssigner::Session { gap }, zone, &input)?;
        Ok(SessionTvfNode { windows, gap, partition, input, proctime: false })
    }

    /// The node as that of a window in GROUP BY.
    pub fn with_of_group_by(self, of_group_by: bool) -> Self {
        SessionTvfNode { windows: self.windows.with_of_group_by(of_group_by), ..self }
    }

    /// The node over processing time: sessions end when the clock passes their ends, and no row is late.
    pub fn with_proctime(self, proctime: bool) -> Self {
        SessionTvfNode { proctime, ..self }
    }

    /// Whether the sessions are over processing time.
    pub fn is_proctime(&self) -> bool {
        self.proctime
    }

    /// The gap in milliseconds.
    pub fn gap(&self) -> i64 {
        self.gap
    }

    /// The columns of PARTITION BY.
    pub fn partition(&self) -> &[usize] {
        &self.partition
    }

    /// The time and how rows get their windows by it.
    pub fn windows(&self) -> &WindowTvfNode {
        &self.windows
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + 'static> {
        let key_fields = self.partition.iter().map(|key| self.input.field(*key).clone()).collect();
        Ok(SessionTvf {
            waiting: WaitingRows {
                node: self.clone(),
                sessions: Sessions::try_new(self.gap, key_fields)?,
                buffer: RowBuffer::new(Arc::clone(&self.input)),
                rows: vec![],
            },
        })
    }
}

impl StreamNode for SessionTvfNode {
    fn name(&self) -> &'static str {
        "WindowTableFunction"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.windows.fmt_arguments(f)?;
        let partition: Vec<_> =
            self.partition.iter().map(|key| self.input.field(*key).name().as_str()).collect();
        write!(f, ", partition=[{}]", partition.join(", "))
    }

    fn schema(&self) -> SchemaRef {
        self.windows.schema()
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        self.windows.traits(inputs)
    }

    fn required_distribution(&self, _input: usize) -> Distribution {
        match self.partition.is_empty() {
            true => Distribution::Single,
            false => Distribution::Hash(self.partition.clone()),
        }
    }

    /// The new row of an update may be in another session than the old one.
    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        true
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run(self.operator()?)
    }
}

struct SessionTvf {
    waiting: WaitingRows,
}

/// The rows of open sessions.
struct WaitingRows {
    node: SessionTvfNode,
    sessions: Sessions,
    buffer: RowBuffer,
    /// The rows of each session, by its slot.
    rows: Vec<Vec<RowRef>>,
}

impl WaitingRows {
    /// Puts rows into their sessions; returns how many were late.
    fn add(&mut self, changes: &ChangelogBatch, is_over: impl Fn(i64) -> bool) -> Result<usize> {
        let times = self.node.windows.times(changes.batch())?;
        let keys: Vec<ArrayRef> =
            self.node.partition.iter().map(|key| Arc::clone(changes.batch().column(*key))).collect();
        let keys = self.sessions.intern(&keys, changes.num_rows())?;
        let (mut late, mut late_keys) = (vec![], vec![]);
        for ((row, key), time) in self.buffer.push(changes.clone())?.zip(keys).zip(times.iter()) {
            let Some(placed) = self.sessions.place(key, *time, &is_over) else {
                late.push(row);
                late_keys.push(key);
                continue;
            };
            if self.rows.len() < self.sessions.slots() {
                self.rows.resize_with(self.sessions.slots(), Vec::new);
            }
            if let Some(absorbed) = placed.absorbed {
                let joined = mem::take(&mut self.rows[absorbed as usize]);
                self.rows[placed.slot as usize].extend(joined);
            }
            self.rows[placed.slot as usize].push(row);
        }
        self.buffer.release(&late);
        self.sessions.forget_unused(late_keys);
        Ok(late.len())
    }

    /// Takes the rows of the sessions that are over.
    fn take_over(&mut self, is_over: impl Fn(i64) -> bool) -> Result<Option<ChangelogBatch>> {
        let slots = self.sessions.over(is_over);
        if slots.is_empty() {
            return Ok(None);
        }
        let (mut rows, mut starts, mut ends) = (vec![], vec![], vec![]);
        for slot in &slots {
            let mut of_session = mem::take(&mut self.rows[*slot as usize]);
            of_session.sort_unstable();
            let window = self.sessions.window(*slot);
            rows.extend(of_session);
            starts.resize(rows.len(), window.start);
            ends.resize(rows.len(), window.end);
        }
        let changes = self.buffer.gather(&rows)?;
        self.buffer.release(&rows);
        self.sessions.close(&slots);
        let node = &self.node.windows;
        with_windows(&changes, starts, ends, node.zone(), &node.schema()).map(Some)
    }
}

impl SessionTvf {
    fn emit(&mut self, now: Watermark, out: &mut Output) -> Result<()> {
        let zone = self.waiting.node.windows.zone();
        if let Some(changes) = self.waiting.take_over(|end| zone.has_passed(end, now.0))? {
            out.data(changes);
        }
        Ok(())
    }
}

impl Operator for SessionTvf {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        _out: &mut Output,
    ) -> Result<()> {
        let (zone, proctime) = (self.waiting.node.windows.zone(), self.waiting.node.proctime);
        let late = self.waiting.add(changes, |end| !proctime && zone.has_passed(end, cx.watermark.0))?;
        cx.metrics.late_rows.add(late);
        Ok(())
    }

    fn on_watermark(&mut self, watermark: Watermark, _cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        if !self.waiting.node.proctime {
            self.emit(watermark, out)?;
        }
        out.watermark(watermark);
        Ok(())
    }

    fn next_timer(&self) -> Option<i64> {
        let end = self.waiting.sessions.next_end().filter(|_| self.waiting.node.proctime);
        end.map(|end| self.waiting.node.windows.zone().over_at(end))
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        self.emit(Watermark(cx.processing_time - 1), out)
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.waiting]
    }
}

impl StateTable for WaitingRows {
    fn name(&self) -> &str {
        "rows"
    }

    fn memory_size(&self) -> usize {
        let rows: usize = self.rows.iter().map(|rows| rows.capacity() * size_of::<RowRef>()).sum();
        self.sessions.memory_size() + self.buffer.memory_size() + rows
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let mut rows: Vec<RowRef> = self.rows.iter().flatten().copied().collect();
        rows.sort_unstable();
        let changes = self.buffer.gather(&rows)?;
        let keys: Vec<ArrayRef> =
            self.node.partition.iter().map(|key| Arc::clone(changes.batch().column(*key))).collect();
        let groups = key_groups(&keys, changes.num_rows())?;
        let kinds = (0..changes.num_rows()).map(|row| changes.kind(row) as u8);
        let mut fields = vec![
            Field::new("key_group", DataType::UInt16, false),
            Field::new("$kind", DataType::UInt8, false),
        ];
        fields.extend(self.node.input.fields().iter().map(|field| field.as_ref().clone()));
        let mut columns: Vec<ArrayRef> =
            vec![Arc::new(UInt16Array::from(groups)), Arc::new(UInt8Array::from_iter_values(kinds))];
        columns.extend(changes.batch().columns().iter().cloned());
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        Ok(TableSnapshot { name: self.name().to_string(), keyed: true, rows })
    }

    /// The rows alone make their sessions again: all of an open session are there.
    fn restore(&mut self, rows: &RecordBatch) -> Result<()> {
        let Some((kinds, columns)) = rows.columns().split_first() else {
            return internal_err!("the snapshot of sessions is empty");
        };
        let kinds = kinds.as_primitive::<UInt8Type>().values().iter();
        let kinds = kinds.map(|kind| RowKind::from_u8(*kind).unwrap_or(RowKind::Insert)).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.node.input), columns.to_vec())?;
        self.add(&ChangelogBatch::try_new(batch, kinds)?, |_| false)?;
        Ok(())
    }
}
