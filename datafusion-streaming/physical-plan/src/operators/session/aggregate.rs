//! GROUP BY window_start, window_end of sessions.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use datafusion_common::{Result, internal_err};

use super::SessionTvfNode;
use super::sessions::{Absorbed, Placed, Sessions};
use crate::changelog::{ChangelogBatch, ChangelogMode};
use crate::operators::aggregate::{AggregateCall, Aggregates, Changed, NetChanges};
use crate::operators::window_aggregate::GroupColumn;
use crate::operators::window_aggregate::group::{WindowGroup, calls_of, names_of};
use crate::operators::window_aggregate::open::aggregates_of;
use crate::runtime::{
    Context, Distribution, ElementStream, Operator, Output, StreamNode, StreamTask, StreamTraits,
    TableSnapshot, WindowProperties,
};
use crate::state::{Due, Evictable, StateTable};
use crate::time::{TimeWindow, Watermark, WindowAssigner};

/// Aggregates of the sessions of a key: emitted once, when the watermark passes the session's end. Rows
/// are folded as they come, and the states of sessions that a row joins are merged.
///
/// Rows are late as for [`SessionTvfNode`]. Retractions are folded into the session of their time; a
/// session without rows left is not emitted.
///
/// With an allowed lateness a late row updates the result of the session that it joins. Where it makes the
/// session longer, the results of what it was are taken back, since the window is part of them.
#[derive(Debug, Clone)]
pub struct SessionAggregateNode {
    sessions: SessionTvfNode,
    group: WindowGroup,
    calls: Vec<AggregateCall>,
    input: SchemaRef,
    schema: SchemaRef,
    retracting: bool,
}

impl SessionAggregateNode {
    /// Groups rows of `input` by their `sessions`. The output, of `schema`, is the columns `group`, whose
    /// keys are those that the sessions are partitioned by, and then the results of `calls`. `mode` is
    /// the input's.
    pub fn new(
        sessions: SessionTvfNode,
        group: Vec<GroupColumn>,
        calls: Vec<AggregateCall>,
        input: SchemaRef,
        schema: SchemaRef,
        mode: ChangelogMode,
    ) -> Self {
        let group = WindowGroup::new(group);
        SessionAggregateNode { sessions, group, calls, input, schema, retracting: !mode.is_insert_only() }
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + use<>> {
        let keys = self.group.keys();
        if keys.iter().any(|key| !self.sessions.partition().contains(key)) {
            return internal_err!("sessions are grouped by a column that they are not partitioned by");
        }
        let aggregates = aggregates_of(&self.calls, &self.input, self.retracting)?;
        let state = OpenSessions {
            node: self.sessions.clone(),
            sessions: self.sessions.sessions(&self.input)?,
            aggregates,
            counts: vec![],
        };
        Ok(SessionAggregate { node: self.clone(), state })
    }
}

impl StreamNode for SessionAggregateNode {
    fn name(&self) -> &'static str {
        "WindowAggregate"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (keys, calls) = (names_of(self.sessions.partition(), &self.input), calls_of(&self.calls));
        let window = self.sessions.windows().assigner();
        write!(f, "key=[{keys}], window=[{window}], aggr=[{calls}]")?;
        self.sessions.fmt_lateness(f)
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, _inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let window = WindowProperties {
            start: vec![],
            end: vec![],
            time: vec![],
            assigner: WindowAssigner::Session { gap: self.sessions.gap() },
            rowtime: !self.sessions.is_proctime(),
            local_time: self.sessions.windows().is_local(),
        };
        let mode = match self.sessions.lateness() {
            0 => ChangelogMode::INSERT_ONLY,
            _ => ChangelogMode::ALL,
        };
        Ok(self.group.traits(&window, mode))
    }

    fn required_distribution(&self, input: usize) -> Distribution {
        self.sessions.required_distribution(input)
    }

    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        true
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run_node(self, Self::operator)
    }
}

struct SessionAggregate {
    node: SessionAggregateNode,
    state: OpenSessions,
}

/// The open sessions and their aggregates, by the sessions' slots.
struct OpenSessions {
    node: SessionTvfNode,
    sessions: Sessions,
    aggregates: Aggregates,
    /// Rows less retractions.
    counts: Vec<i64>,
}

impl OpenSessions {
    fn grow(&mut self) {
        self.aggregates.grow(self.sessions.slots());
        self.counts.resize(self.sessions.slots(), 0);
    }

    /// Folds rows whose sessions are `slots`. `merges` are the sessions that were joined: in front of
    /// which row, into which and from which.
    fn fold(&mut self, changes: &ChangelogBatch, slots: &[u32], merges: &[(usize, u32, u32)]) -> Result<()> {
        let retract = changes.kinds().map(|kinds| kinds.retractions());
        let mut start = 0;
        let end = (slots.len(), 0, 0);
        for (row, into, from) in merges.iter().chain([&end]) {
            let segment = changes.batch().slice(start, row - start);
            let retract = retract.as_ref().map(|retract| &retract[start..*row]);
            self.aggregates.accumulate(&segment, &slots[start..*row], retract)?;
            for (number, slot) in slots[start..*row].iter().enumerate() {
                let is_retraction = retract.is_some_and(|retract| retract[number]);
                self.counts[*slot as usize] += if is_retraction { -1 } else { 1 };
            }
            start = *row;
            if into != from {
                self.aggregates.merge_slots(&[*into], &[*from])?;
                self.counts[*into as usize] += self.counts[*from as usize];
                self.clear(&[*from]);
            }
        }
        Ok(())
    }

    fn clear(&mut self, slots: &[u32]) {
        self.aggregates.clear(slots);
        for slot in slots {
            self.counts[*slot as usize] = 0;
        }
    }

    /// Those of the slots whose sessions have rows.
    fn with_rows(&self, slots: &[u32]) -> Vec<u32> {
        slots.iter().copied().filter(|slot| self.counts[*slot as usize] != 0).collect()
    }
}

/// Rows of a batch that are on their way into their sessions.
#[derive(Default)]
struct Pending {
    rows: Vec<u32>,
    slots: Vec<u32>,
    /// Which sessions are joined: in front of which of the rows, into which and from which.
    merges: Vec<(usize, u32, u32)>,
}

impl SessionAggregate {
    /// The output for sessions.
    fn rows_of(&self, slots: &[u32]) -> Result<ChangelogBatch> {
        let windows: Vec<TimeWindow> = slots.iter().map(|slot| self.state.sessions.window(*slot)).collect();
        let values = self.state.aggregates.evaluate(slots)?;
        let (keys, zone) = (self.keys_of(slots)?, self.node.sessions.windows().zone());
        let rows = self.node.group.rows(keys, &windows, zone, values, &self.node.schema)?;
        Ok(ChangelogBatch::insert_only(rows))
    }

    /// The key columns of sessions, as they are grouped by.
    fn keys_of(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let columns = self.state.sessions.keys(slots)?;
        let partition = self.node.sessions.partition();
        let place = |key: &usize| partition.iter().position(|known| known == key);
        let keys = self.node.group.keys();
        Ok(keys.iter().filter_map(place).map(|place| Arc::clone(&columns[place])).collect())
    }

    /// Emits the sessions that are over, and forgets those that take no rows any more.
    fn fire(&mut self, now: Watermark, out: &mut Output) -> Result<()> {
        let zone = self.node.sessions.windows().zone();
        let over = self.state.sessions.over(|end| zone.has_passed(end, now.0));
        let with_rows = self.state.with_rows(&over);
        if !with_rows.is_empty() {
            out.data(self.rows_of(&with_rows)?);
        }
        let gone = match self.node.sessions.lateness() {
            0 => over,
            _ => self.state.sessions.gone(|end| zone.has_passed(end, now.0)),
        };
        self.state.clear(&gone);
        self.state.sessions.close(&gone);
        Ok(())
    }

    /// Folds rows whose sessions have nothing out.
    fn fold(&mut self, changes: &ChangelogBatch, pending: &mut Pending) -> Result<()> {
        let Pending { rows, slots, merges } = std::mem::take(pending);
        if rows.is_empty() {
            return Ok(());
        }
        self.state.grow();
        let rows = match rows.len() == changes.num_rows() {
            true => changes.clone(),
            false => changes.take(&rows)?,
        };
        self.state.fold(&rows, &slots, &merges)
    }

    /// Folds a row that joins sessions that have fired, or whose session is over, and emits what it changes.
    fn update(
        &mut self,
        row: &ChangelogBatch,
        placed: Placed,
        is_over: impl Fn(i64) -> bool,
        out: &mut Output,
    ) -> Result<()> {
        let slot = placed.slot;
        self.state.grow();
        let was_out = placed.before.is_some() && self.state.sessions.has_fired(slot);
        let absorbed = placed.absorbed;
        // what is out, by the windows that it is out for
        let mut out_before = vec![];
        if let Some(window) = placed.before.filter(|_| was_out) {
            out_before.push((slot, window));
        }
        out_before.extend(absorbed.filter(|absorbed| absorbed.has_fired).map(|one| (one.slot, one.window)));
        out_before.retain(|(slot, _)| self.state.counts[*slot as usize] != 0);
        let slots: Vec<u32> = out_before.iter().map(|(slot, _)| *slot).collect();
        let before = self.state.aggregates.evaluate(&slots)?;

        let merges: Vec<_> = absorbed.map(|absorbed| (0, slot, absorbed.slot)).into_iter().collect();
        self.state.fold(row, &[slot], &merges)?;

        let window = self.state.sessions.window(slot);
        let is_out = is_over(window.end);
        match (is_out, was_out) {
            (true, true) if placed.before.is_some_and(|before| before.end == window.end) => {}
            (true, _) => self.state.sessions.set_fired(slot),
            (false, true) => self.state.sessions.await_end(slot),
            // it waits for its end already
            (false, false) => {}
        }
        let after: Vec<u32> = if is_out { self.state.with_rows(&[slot]) } else { vec![] };
        let after_values = self.state.aggregates.evaluate(&after)?;
        let mut after_place = (!after.is_empty()).then_some(0);
        let (mut changed, mut windows) = (vec![], vec![]);
        for (place, (_, before)) in (0..).zip(&out_before) {
            let after = after_place.take_if(|_| *before == window);
            changed.push(Changed { slot: windows.len() as u32, before: Some(place), after });
            windows.push(*before);
        }
        if after_place.is_some() {
            changed.push(Changed { slot: windows.len() as u32, before: None, after: after_place });
            windows.push(window);
        }
        let changes = NetChanges::of(&changed, &before, &after_values, true)?;
        if !changes.is_empty() {
            let windows: Vec<TimeWindow> =
                changes.slots().iter().map(|place| windows[*place as usize]).collect();
            let keys = self.keys_of(&vec![slot; windows.len()])?;
            let zone = self.node.sessions.windows().zone();
            let keys = self.node.group.columns(keys, &windows, zone, &self.node.schema)?;
            out.data(changes.batch(keys, &before, &after_values, &self.node.schema)?);
        }
        Ok(())
    }
}

impl Operator for SessionAggregate {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let (zone, watermark) = (self.node.sessions.windows().zone(), cx.watermark);
        let (proctime, updates) = (self.node.sessions.is_proctime(), self.node.sessions.lateness() > 0);
        let has_passed = |end| !proctime && zone.has_passed(end, watermark.0);
        let times = self.node.sessions.windows().times(changes.batch())?;
        let keys = self.node.sessions.keys_of(changes.batch(), &mut self.state.sessions)?;
        let (mut pending, mut late_keys) = (Pending::default(), vec![]);
        for (row, (key, time)) in (0u32..).zip(keys.into_iter().zip(times.iter())) {
            let sessions = &mut self.state.sessions;
            let Some(placed) = sessions.place(key, *time, has_passed) else {
                late_keys.push(key);
                continue;
            };
            if updates {
                let joins_fired = placed.before.is_some() && sessions.has_fired(placed.slot)
                    || placed.absorbed.is_some_and(|absorbed| absorbed.has_fired);
                if joins_fired || has_passed(sessions.window(placed.slot).end) {
                    self.fold(changes, &mut pending)?;
                    self.update(&changes.slice(row as usize, 1), placed, has_passed, out)?;
                    continue;
                }
            }
            let merge = |absorbed: Absorbed| (pending.rows.len(), placed.slot, absorbed.slot);
            let merge = placed.absorbed.map(merge);
            pending.merges.extend(merge);
            pending.rows.push(row);
            pending.slots.push(placed.slot);
        }
        cx.metrics.late_rows.add(late_keys.len());
        self.fold(changes, &mut pending)?;
        self.state.sessions.forget_unused(late_keys);
        Ok(())
    }

    fn on_watermark(&mut self, watermark: Watermark, _cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        if !self.node.sessions.is_proctime() {
            self.fire(watermark, out)?;
        }
        out.watermark(watermark);
        Ok(())
    }

    fn next_timer(&self) -> Option<i64> {
        let end = self.state.sessions.next_end().filter(|_| self.node.sessions.is_proctime());
        end.map(|end| self.node.sessions.windows().zone().over_at(end))
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Result<()> {
        self.fire(Watermark(cx.processing_time - 1), out)
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.state]
    }
}

impl StateTable for OpenSessions {
    fn name(&self) -> &str {
        "sessions"
    }

    fn memory_size(&self) -> usize {
        self.sessions.bytes() + self.aggregates.memory_size() + self.counts.capacity() * size_of::<i64>()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let live = self.sessions.live();
        let (mut fields, mut columns) = self.sessions.columns(&live)?;
        fields.push(Field::new("$rows", DataType::Int64, false));
        let counts = live.iter().map(|slot| self.counts[*slot as usize]);
        columns.push(Arc::new(Int64Array::from_iter_values(counts)));
        for (field, column) in self.aggregates.snapshot(&live)? {
            fields.push(field);
            columns.push(column);
        }
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        Ok(TableSnapshot { name: self.name().to_string(), keyed: true, rows })
    }

    fn restore(&mut self, rows: &RecordBatch) -> Result<()> {
        let (slots, rest) = self.sessions.restore_columns(rows)?;
        let Some((counts, aggregates)) = rest.split_first() else {
            return internal_err!("the snapshot of sessions lacks its row counts");
        };
        self.grow();
        for (slot, count) in slots.iter().zip(counts.as_primitive::<Int64Type>().values()) {
            self.counts[*slot as usize] = *count;
        }
        self.aggregates.restore(&slots, aggregates)
    }

    fn evictable(&self) -> Option<Evictable> {
        Some(Evictable { keys: (0..self.node.partition().len()).collect(), ttl: 0 })
    }

    fn due(&self, _rows: &RecordBatch, _watermark: i64) -> Result<Due> {
        let zone = self.node.windows().zone();
        Ok(self.sessions.due(&self.sessions.live(), zone, self.node.is_proctime()))
    }
}
