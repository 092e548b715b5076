//! GROUP BY window_start, window_end of sessions.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use datafusion_common::{Result, internal_err};

use super::SessionTvfNode;
use super::sessions::Sessions;
use crate::changelog::{ChangelogBatch, ChangelogMode};
use crate::operators::aggregate::{AggregateCall, Aggregates};
use crate::operators::window_aggregate::GroupColumn;
use crate::runtime::{
    Context, Distribution, ElementStream, Operator, Output, StreamNode, StreamTask, StreamTraits,
    TableSnapshot, TimeAttribute, TimeAttributeKind, WindowProperties,
};
use crate::state::StateTable;
use crate::time::{Watermark, WindowAssigner, timestamps_of};

/// Aggregates of the sessions of a key: emitted once, when the watermark passes the session's end. Rows
/// are folded as they come, and the states of sessions that a row joins are merged.
///
/// Rows are late as for [`SessionTvfNode`]. Retractions are folded into the session of their time; a
/// session without rows left is not emitted.
#[derive(Debug, Clone)]
pub struct SessionAggregateNode {
    sessions: SessionTvfNode,
    group: Vec<GroupColumn>,
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
        SessionAggregateNode { sessions, group, calls, input, schema, retracting: !mode.is_insert_only() }
    }

    fn places(&self, wanted: GroupColumn) -> Vec<usize> {
        let is_wanted = |(_, column): &(usize, &GroupColumn)| **column == wanted;
        self.group.iter().enumerate().filter(is_wanted).map(|(place, _)| place).collect()
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + 'static> {
        let types: Vec<DataType> =
            self.input.fields().iter().map(|field| field.data_type().clone()).collect();
        let key_fields = self.sessions.partition().iter().map(|key| self.input.field(*key).clone()).collect();
        Ok(SessionAggregate {
            state: OpenSessions {
                sessions: Sessions::try_new(self.sessions.gap(), key_fields)?,
                aggregates: Aggregates::try_new(&self.calls, &types, self.retracting)?,
                counts: vec![],
            },
            node: self.clone(),
        })
    }
}

impl StreamNode for SessionAggregateNode {
    fn name(&self) -> &'static str {
        "WindowAggregate"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.sessions.partition().iter();
        let keys: Vec<_> = keys.map(|key| self.input.field(*key).name().as_str()).collect();
        let calls: Vec<_> = self.calls.iter().map(AggregateCall::to_string).collect();
        let window = self.sessions.windows().assigner();
        write!(f, "key=[{}], window=[{window}], aggr=[{}]", keys.join(", "), calls.join(", "))
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, _inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let time = self.places(GroupColumn::WindowTime);
        let kind = match self.sessions.is_proctime() {
            true => TimeAttributeKind::Proctime,
            false => TimeAttributeKind::Rowtime,
        };
        let attribute = |column: &usize| TimeAttribute { column: *column, kind };
        Ok(StreamTraits {
            mode: ChangelogMode::INSERT_ONLY,
            upsert_keys: vec![(0..self.group.len()).collect()],
            time_attributes: time.iter().map(attribute).collect(),
            window: Some(WindowProperties {
                start: self.places(GroupColumn::WindowStart),
                end: self.places(GroupColumn::WindowEnd),
                time: time.clone(),
                assigner: WindowAssigner::Session { gap: self.sessions.gap() },
                rowtime: !self.sessions.is_proctime(),
                local_time: self.sessions.windows().is_local(),
            }),
            monotonicity: vec![],
        })
    }

    fn required_distribution(&self, input: usize) -> Distribution {
        self.sessions.required_distribution(input)
    }

    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        true
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run(self.operator()?)
    }
}

struct SessionAggregate {
    node: SessionAggregateNode,
    state: OpenSessions,
}

/// The open sessions and their aggregates, by the sessions' slots.
struct OpenSessions {
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
}

impl SessionAggregate {
    /// The output for sessions.
    fn rows_of(&self, slots: &[u32]) -> Result<ChangelogBatch> {
        let node = &self.node;
        let sessions = &self.state.sessions;
        let keys = sessions.keys(slots)?;
        let zone = node.sessions.windows().zone();
        let mut columns: Vec<ArrayRef> = vec![];
        for (column, field) in node.group.iter().zip(node.schema.fields()) {
            let windows = slots.iter().map(|slot| sessions.window(*slot));
            let millis: Vec<i64> = match column {
                GroupColumn::Key(key) => {
                    let Some(place) = node.sessions.partition().iter().position(|known| known == key) else {
                        return internal_err!(
                            "sessions are grouped by a column that they are not partitioned by"
                        );
                    };
                    columns.push(Arc::clone(&keys[place]));
                    continue;
                }
                GroupColumn::WindowStart => windows.map(|window| window.start).collect(),
                GroupColumn::WindowEnd => windows.map(|window| window.end).collect(),
                GroupColumn::WindowTime => windows.map(|window| zone.to_instant(window.end - 1)).collect(),
            };
            columns.push(timestamps_of(millis, field.data_type())?);
        }
        columns.extend(self.state.aggregates.evaluate(slots)?);
        let options = RecordBatchOptions::new().with_row_count(Some(slots.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&node.schema), columns, &options)?;
        Ok(ChangelogBatch::insert_only(batch))
    }
}

impl SessionAggregate {
    /// Emits the sessions that are over.
    fn fire(&mut self, now: Watermark, out: &mut Output) -> Result<()> {
        let zone = self.node.sessions.windows().zone();
        let over = self.state.sessions.over(|end| zone.has_passed(end, now.0));
        if over.is_empty() {
            return Ok(());
        }
        let counts = &self.state.counts;
        let with_rows: Vec<u32> = over.iter().copied().filter(|slot| counts[*slot as usize] > 0).collect();
        out.data(self.rows_of(&with_rows)?);
        self.state.clear(&over);
        self.state.sessions.close(&over);
        Ok(())
    }
}

impl Operator for SessionAggregate {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        cx: &mut Context<'_>,
        _out: &mut Output,
    ) -> Result<()> {
        let windows = self.node.sessions.windows();
        let partition = self.node.sessions.partition();
        let (zone, proctime) = (windows.zone(), self.node.sessions.is_proctime());
        let times = windows.times(changes.batch())?;
        let columns: Vec<ArrayRef> =
            partition.iter().map(|key| Arc::clone(changes.batch().column(*key))).collect();
        let sessions = &mut self.state.sessions;
        let keys = sessions.intern(&columns, changes.num_rows())?;
        let (mut kept, mut slots, mut merges, mut late_keys) = (vec![], vec![], vec![], vec![]);
        for (row, (key, time)) in keys.into_iter().zip(times.iter()).enumerate() {
            match sessions.place(key, *time, |end| !proctime && zone.has_passed(end, cx.watermark.0)) {
                Some(placed) => {
                    merges.extend(placed.absorbed.map(|absorbed| (slots.len(), placed.slot, absorbed)));
                    kept.push(row as u32);
                    slots.push(placed.slot);
                }
                None => late_keys.push(key),
            }
        }
        cx.metrics.late_rows.add(late_keys.len());
        let on_time = if late_keys.is_empty() { changes.clone() } else { changes.take(&kept)? };
        sessions.forget_unused(late_keys);
        self.state.grow();
        self.state.fold(&on_time, &slots, &merges)
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
        self.sessions.memory_size()
            + self.aggregates.memory_size()
            + self.counts.capacity() * size_of::<i64>()
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        let live = self.sessions.live();
        let (mut fields, mut columns) = self.sessions.snapshot(&live)?;
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
        let (slots, rest) = self.sessions.restore(rows)?;
        let Some((counts, aggregates)) = rest.split_first() else {
            return internal_err!("the snapshot of sessions lacks its row counts");
        };
        self.grow();
        for (slot, count) in slots.iter().zip(counts.as_primitive::<Int64Type>().values()) {
            self.counts[*slot as usize] = *count;
        }
        self.aggregates.restore(&slots, aggregates)
    }
}
