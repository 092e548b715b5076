//! The table function SESSION: rows with their session, once it is over.

use std::fmt;
use std::mem;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch, UInt8Array, UInt16Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt8Type};
use datafusion_common::{Result, internal_err};

use super::sessions::Sessions;
use crate::changelog::{ChangelogBatch, RowKind, RowKinds};
use crate::operators::window_tvf::{WindowTvfNode, with_windows};
use crate::runtime::{
    Context, Distribution, ElementStream, Operator, Output, StreamNode, StreamTask, StreamTraits,
    TableSnapshot,
};
use crate::state::key_group::key_groups;
use crate::state::{Due, Evictable, RowBuffer, RowRef, StateTable};
use crate::time::{LocalZone, TimeWindow, Watermark, WindowAssigner};

/// Appends `window_start`, `window_end` and `window_time` of its session to each row.
///
/// A session of a key is a run of rows, each at most the gap after the one before it; it ends a gap
/// after its last row. Rows wait until the watermark has passed the end of their session, and leave in
/// the order in which they came. A row is late, dropped and counted, if it joins no session that is
/// still open and its own would be over.
///
/// With an allowed lateness sessions take rows for so long after their ends. A late row leaves at once;
/// where it makes its session longer, the rows that have left are taken back, and leave again with the
/// window that it is now.
#[derive(Debug, Clone)]
pub struct SessionTvfNode {
    windows: WindowTvfNode,
    gap: i64,
    partition: Vec<usize>,
    input: SchemaRef,
    proctime: bool,
    lateness: i64,
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
        Ok(SessionTvfNode { windows, gap, partition, input, proctime: false, lateness: 0 })
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

    /// The node with an allowed lateness in milliseconds; over processing time no row is late.
    pub fn with_allowed_lateness(self, lateness: i64) -> Self {
        SessionTvfNode { lateness, ..self }
    }

    /// The allowed lateness in milliseconds.
    pub fn lateness(&self) -> i64 {
        if self.proctime { 0 } else { self.lateness }
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

    /// The sessions of rows of `input`, none as yet.
    pub(crate) fn sessions(&self, input: &Schema) -> Result<Sessions> {
        let key_fields = self.partition.iter().map(|key| input.field(*key).clone()).collect();
        Sessions::try_new(self.gap, self.lateness(), key_fields)
    }

    /// The slots of the keys of rows, as [`Sessions::intern`] has them.
    pub(crate) fn keys_of(&self, rows: &RecordBatch, sessions: &mut Sessions) -> Result<Vec<u32>> {
        let keys: Vec<ArrayRef> = self.partition.iter().map(|key| Arc::clone(rows.column(*key))).collect();
        sessions.intern(&keys, rows.num_rows())
    }

    /// Shows the allowed lateness in EXPLAIN, if there is one.
    pub(super) fn fmt_lateness(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lateness() {
            0 => Ok(()),
            lateness => write!(f, ", allowed_lateness=[{lateness} ms]"),
        }
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + use<>> {
        Ok(SessionTvf {
            waiting: WaitingRows {
                node: self.clone(),
                sessions: self.sessions(&self.input)?,
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
        write!(f, ", partition=[{}]", partition.join(", "))?;
        self.fmt_lateness(f)
    }

    fn schema(&self) -> SchemaRef {
        self.windows.schema()
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let traits = self.windows.traits(inputs)?;
        Ok(match self.lateness() {
            0 => traits,
            _ => StreamTraits { mode: traits.mode.with(RowKind::Delete), monotonicity: vec![], ..traits },
        })
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
        task.run_node(self, Self::operator)
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

/// Rows that leave.
#[derive(Default)]
struct Leaving {
    rows: Vec<RowRef>,
    windows: Vec<TimeWindow>,
    /// Whether they are taken back.
    undone: Vec<bool>,
}

impl Leaving {
    fn push(&mut self, rows: impl IntoIterator<Item = RowRef>, window: TimeWindow, undone: bool) {
        self.rows.extend(rows);
        self.windows.resize(self.rows.len(), window);
        self.undone.resize(self.rows.len(), undone);
    }
}

impl WaitingRows {
    /// The rows in the order in which they came, with their sessions.
    fn in_order(&self) -> Vec<(RowRef, u32)> {
        let of_session =
            |(slot, rows): (u32, &Vec<RowRef>)| rows.iter().map(|row| (*row, slot)).collect::<Vec<_>>();
        let mut rows: Vec<(RowRef, u32)> = (0..).zip(&self.rows).flat_map(of_session).collect();
        rows.sort_unstable();
        rows
    }

    /// Puts rows into their sessions. Returns how many were late, and what leaves at once.
    fn add(
        &mut self,
        changes: &ChangelogBatch,
        has_passed: impl Fn(i64) -> bool,
    ) -> Result<(usize, Leaving)> {
        let times = self.node.windows.times(changes.batch())?;
        let keys = self.node.keys_of(changes.batch(), &mut self.sessions)?;
        let (mut late, mut late_keys, mut leaving) = (vec![], vec![], Leaving::default());
        for ((row, key), time) in self.buffer.push(changes.clone())?.zip(keys).zip(times.iter()) {
            let Some(placed) = self.sessions.place(key, *time, &has_passed) else {
                late.push(row);
                late_keys.push(key);
                continue;
            };
            if self.rows.len() < self.sessions.slots() {
                self.rows.resize_with(self.sessions.slots(), Vec::new);
            }
            let slot = placed.slot as usize;
            let window = self.sessions.window(placed.slot);
            let was_out = placed.before.filter(|_| self.sessions.has_fired(placed.slot));
            let is_longer = was_out.is_some_and(|before| before != window);
            if let Some(before) = was_out.filter(|_| is_longer) {
                leaving.push(self.rows[slot].iter().rev().copied(), before, true);
            }
            if let Some(absorbed) = placed.absorbed {
                let joined = mem::take(&mut self.rows[absorbed.slot as usize]);
                if absorbed.has_fired {
                    leaving.push(joined.iter().rev().copied(), absorbed.window, true);
                }
                self.rows[slot].extend(joined);
            }
            self.rows[slot].push(row);
            if was_out.is_some() && !is_longer {
                leaving.push([row], window, false);
            } else if has_passed(window.end) {
                self.rows[slot].sort_unstable();
                leaving.push(self.rows[slot].iter().copied(), window, false);
                self.sessions.set_fired(placed.slot);
            } else if was_out.is_some() {
                self.sessions.await_end(placed.slot);
            }
        }
        self.buffer.release(&late);
        self.sessions.forget_unused(late_keys);
        Ok((late.len(), leaving))
    }

    /// The rows of the sessions that are over. Those of sessions that take no rows any more are forgotten.
    fn take_over(&mut self, has_passed: impl Fn(i64) -> bool) -> Result<Option<ChangelogBatch>> {
        let over = self.sessions.over(&has_passed);
        let mut leaving = Leaving::default();
        for slot in &over {
            let of_session = &mut self.rows[*slot as usize];
            of_session.sort_unstable();
            leaving.push(of_session.iter().copied(), self.sessions.window(*slot), false);
        }
        let changes = self.changes(leaving)?;
        let gone = if self.node.lateness() == 0 { over } else { self.sessions.gone(has_passed) };
        for slot in &gone {
            let rows = mem::take(&mut self.rows[*slot as usize]);
            self.buffer.release(&rows);
        }
        self.sessions.close(&gone);
        Ok(changes)
    }

    /// Rows that leave, as changes of the output.
    fn changes(&self, leaving: Leaving) -> Result<Option<ChangelogBatch>> {
        if leaving.rows.is_empty() {
            return Ok(None);
        }
        let mut changes = self.buffer.gather(&leaving.rows)?;
        if leaving.undone.contains(&true) {
            let kind = |(row, undone): (usize, &bool)| match (changes.kind(row), undone) {
                (kind, false) => kind,
                (RowKind::Insert | RowKind::UpdateAfter, true) => RowKind::Delete,
                (RowKind::UpdateBefore | RowKind::Delete, true) => RowKind::Insert,
            };
            let kinds: RowKinds = leaving.undone.iter().enumerate().map(kind).collect();
            changes = ChangelogBatch::try_new(changes.into_parts().0, kinds)?;
        }
        let node = &self.node.windows;
        let starts = leaving.windows.iter().map(|window| window.start).collect();
        let ends = leaving.windows.iter().map(|window| window.end).collect();
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
        out: &mut Output,
    ) -> Result<()> {
        let (zone, proctime) = (self.waiting.node.windows.zone(), self.waiting.node.proctime);
        let has_passed = |end| !proctime && zone.has_passed(end, cx.watermark.0);
        let (late, leaving) = self.waiting.add(changes, has_passed)?;
        cx.metrics.late_rows.add(late);
        if let Some(changes) = self.waiting.changes(leaving)? {
            out.data(changes);
        }
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
        self.sessions.bytes() + self.buffer.memory_size() + rows
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let (rows, slots): (Vec<RowRef>, Vec<u32>) = self.in_order().into_iter().unzip();
        let fired: Vec<bool> = slots.iter().map(|slot| self.sessions.has_fired(*slot)).collect();
        let changes = self.buffer.gather(&rows)?;
        let keys: Vec<ArrayRef> =
            self.node.partition.iter().map(|key| Arc::clone(changes.batch().column(*key))).collect();
        let groups = key_groups(&keys, changes.num_rows())?;
        let kinds = (0..changes.num_rows()).map(|row| changes.kind(row) as u8);
        let mut fields = vec![
            Field::new("key_group", DataType::UInt16, false),
            Field::new("$kind", DataType::UInt8, false),
            Field::new("$fired", DataType::Boolean, false),
        ];
        fields.extend(self.node.input.fields().iter().map(|field| field.as_ref().clone()));
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(UInt16Array::from(groups)),
            Arc::new(UInt8Array::from_iter_values(kinds)),
            Arc::new(BooleanArray::from(fired)),
        ];
        columns.extend(changes.batch().columns().iter().cloned());
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        Ok(TableSnapshot { name: self.name().to_string(), keyed: true, rows })
    }

    /// The rows alone make their sessions again: all of a session are there.
    fn restore(&mut self, rows: &RecordBatch) -> Result<()> {
        let [kinds, fired, columns @ ..] = rows.columns() else {
            return internal_err!("the snapshot of sessions is empty");
        };
        let kinds = kinds.as_primitive::<UInt8Type>().values().iter();
        let kinds: RowKinds = kinds.map(|kind| RowKind::from_u8(*kind).unwrap_or(RowKind::Insert)).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.node.input), columns.to_vec())?;
        let changes = ChangelogBatch::try_new(batch, kinds)?;
        let fired = fired.as_boolean();
        // first those that have left, so that theirs are told from the sessions that are still open
        for has_fired in [true, false] {
            let mask: BooleanArray = fired.iter().map(|fired| Some(fired == Some(has_fired))).collect();
            if mask.true_count() == 0 {
                continue;
            }
            let known = self.sessions.live();
            self.add(&changes.filter(&mask)?, |_| false)?;
            if has_fired {
                let new = self.sessions.live().into_iter().filter(|slot| known.binary_search(slot).is_err());
                new.for_each(|slot| self.sessions.set_fired(slot));
            }
        }
        Ok(())
    }

    fn evictable(&self) -> Option<Evictable> {
        // behind the kind and the flag
        Some(Evictable { keys: self.node.partition.iter().map(|key| 2 + key).collect(), ttl: 0 })
    }

    fn due(&self, _rows: &RecordBatch, _watermark: i64) -> Result<Due> {
        let slots: Vec<u32> = self.in_order().into_iter().map(|(_, slot)| slot).collect();
        Ok(self.sessions.due(&slots, self.node.windows.zone(), self.node.proctime))
    }
}
