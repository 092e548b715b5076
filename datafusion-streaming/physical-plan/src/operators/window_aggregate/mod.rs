//! GROUP BY window_start, window_end: one row for each window and key, when the watermark passes.

mod late;
mod operator;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, SchemaRef, TimeUnit};
use datafusion_common::Result;

use self::operator::WindowAggregate;
use super::aggregate::{AggregateCall, Aggregates, KeyedAggregates};
use crate::changelog::{ChangelogMode, RowKind};
use crate::runtime::{
    Distribution, ElementStream, Operator, StreamNode, StreamTask, StreamTraits, TimeAttribute,
    TimeAttributeKind, WindowProperties,
};
use crate::time::{LocalZone, WindowAssigner};

/// A column of the output that is a group key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupColumn {
    /// A column of the input other than those of the window.
    Key(usize),
    /// `window_start`.
    WindowStart,
    /// `window_end`.
    WindowEnd,
    /// `window_time`.
    WindowTime,
}

/// Flink's WindowAggregate over rows that carry their window: emits the aggregates of a window once,
/// when the watermark passes its end. Rows of windows that have fired are late: dropped and counted.
///
/// Over processing time a window fires when the clock passes its end, and no row is late.
///
/// With an allowed lateness the state of a window is kept for so long after its end, and a late row
/// within it updates what has been emitted; a window that gets its first row then is emitted at once.
#[derive(Debug, Clone)]
pub struct WindowAggregateNode {
    group: Vec<GroupColumn>,
    window_end: usize,
    assigner: WindowAssigner,
    zone: LocalZone,
    calls: Vec<AggregateCall>,
    input: SchemaRef,
    schema: SchemaRef,
    retracting: bool,
    lateness: i64,
    proctime: bool,
}

impl WindowAggregateNode {
    /// Groups rows of `input`, whose windows are `window`, by the columns `group`. The output, of
    /// `schema`, is those columns and then the results of `calls`. `mode` is the input's, `zone` the
    /// session's.
    #[expect(
        clippy::too_many_arguments,
        reason = "what a window aggregation is made of, each of another kind"
    )]
    pub fn new(
        group: Vec<GroupColumn>,
        window: &WindowProperties,
        window_end: usize,
        zone: LocalZone,
        calls: Vec<AggregateCall>,
        input: SchemaRef,
        schema: SchemaRef,
        mode: ChangelogMode,
    ) -> Self {
        let zone = if window.local_time { zone } else { LocalZone::UTC };
        let retracting = !mode.is_insert_only();
        WindowAggregateNode {
            group,
            window_end,
            assigner: window.assigner,
            zone,
            calls,
            input,
            schema,
            retracting,
            lateness: 0,
            proctime: !window.rowtime,
        }
    }

    /// The node with an allowed lateness in milliseconds.
    pub fn with_allowed_lateness(self, lateness: i64) -> Self {
        WindowAggregateNode { lateness, ..self }
    }

    /// The type in which the ends of windows are kept.
    fn window_end_type() -> DataType {
        DataType::Timestamp(TimeUnit::Millisecond, None)
    }

    /// The input columns that are keys, the window's aside.
    fn keys(&self) -> Vec<usize> {
        let key = |column: &GroupColumn| match column {
            GroupColumn::Key(key) => Some(*key),
            _ => None,
        };
        self.group.iter().filter_map(key).collect()
    }

    /// The places of a window column in the output.
    fn places(&self, wanted: GroupColumn) -> Vec<usize> {
        let is_wanted = |(_, column): &(usize, &GroupColumn)| **column == wanted;
        self.group.iter().enumerate().filter(is_wanted).map(|(place, _)| place).collect()
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + 'static> {
        let types: Vec<DataType> =
            self.input.fields().iter().map(|field| field.data_type().clone()).collect();
        let aggregates = Aggregates::try_new(&self.calls, &types, self.retracting)?;
        let keys = self.keys();
        let mut key_fields: Vec<_> = keys.iter().map(|key| self.input.field(*key).clone()).collect();
        key_fields.push(Field::new("$window_end", WindowAggregateNode::window_end_type(), false));
        let groups = KeyedAggregates::try_new(key_fields, keys.len(), aggregates, true, false)?;
        Ok(WindowAggregate::new(self.clone(), keys, groups))
    }
}

impl StreamNode for WindowAggregateNode {
    fn name(&self) -> &'static str {
        "WindowAggregate"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.keys();
        let keys: Vec<_> = keys.iter().map(|key| self.input.field(*key).name().as_str()).collect();
        let calls: Vec<_> = self.calls.iter().map(AggregateCall::to_string).collect();
        write!(f, "key=[{}], window=[{}], aggr=[{}]", keys.join(", "), self.assigner, calls.join(", "))?;
        match self.lateness {
            0 => Ok(()),
            lateness => write!(f, ", allowed_lateness=[{lateness} ms]"),
        }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let time = self.places(GroupColumn::WindowTime);
        let kind = if self.proctime { TimeAttributeKind::Proctime } else { TimeAttributeKind::Rowtime };
        let attribute = |column: &usize| TimeAttribute { column: *column, kind };
        let window = inputs[0].window.as_ref().map(|window| WindowProperties {
            start: self.places(GroupColumn::WindowStart),
            end: self.places(GroupColumn::WindowEnd),
            time: time.clone(),
            ..window.clone()
        });
        let mode = match (self.lateness, self.retracting) {
            (0, _) => ChangelogMode::INSERT_ONLY,
            (_, true) => ChangelogMode::ALL,
            (_, false) => ChangelogMode::ALL.without(RowKind::Delete),
        };
        Ok(StreamTraits {
            mode,
            upsert_keys: vec![(0..self.group.len()).collect()],
            time_attributes: time.iter().map(attribute).collect(),
            window,
            monotonicity: vec![],
        })
    }

    fn required_distribution(&self, _input: usize) -> Distribution {
        match self.keys() {
            keys if keys.is_empty() => Distribution::Single,
            keys => Distribution::Hash(keys),
        }
    }

    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        true
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run(self.operator()?)
    }
}

#[cfg(test)]
mod tests;
