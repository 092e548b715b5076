//! GROUP BY window_start, window_end of windows that overlap: each row is folded once.

mod operator;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, SchemaRef, TimeUnit};
use datafusion_common::Result;

use self::operator::SliceAggregate;
use super::aggregate::{AggregateCall, Aggregates, KeyedAggregates};
use super::window_aggregate::GroupColumn;
use super::window_tvf::WindowTvfNode;
use crate::changelog::ChangelogMode;
use crate::runtime::{
    Distribution, ElementStream, Operator, StreamNode, StreamTask, StreamTraits, TimeAttribute,
    TimeAttributeKind, WindowProperties,
};

/// Flink's window aggregation on slices: the windows of HOP and CUMULATE are made of slices as long as
/// the slide or the step. A row is folded into its slice; when a window fires, the states of its slices
/// are merged.
///
/// A row counts in those of its windows that have not fired; it is late, dropped and counted, if all
/// have.
#[derive(Debug, Clone)]
pub struct SliceAggregateNode {
    windows: WindowTvfNode,
    group: Vec<GroupColumn>,
    calls: Vec<AggregateCall>,
    input: SchemaRef,
    schema: SchemaRef,
    retracting: bool,
}

impl SliceAggregateNode {
    /// Groups rows of `input`, whose windows are `windows`, by the columns `group`. The output, of
    /// `schema`, is those columns and then the results of `calls`. `mode` is the input's.
    pub fn new(
        windows: WindowTvfNode,
        group: Vec<GroupColumn>,
        calls: Vec<AggregateCall>,
        input: SchemaRef,
        schema: SchemaRef,
        mode: ChangelogMode,
    ) -> Self {
        SliceAggregateNode { windows, group, calls, input, schema, retracting: !mode.is_insert_only() }
    }

    /// The input columns that are keys.
    fn keys(&self) -> Vec<usize> {
        let key = |column: &GroupColumn| match column {
            GroupColumn::Key(key) => Some(*key),
            _ => None,
        };
        self.group.iter().filter_map(key).collect()
    }

    fn places(&self, wanted: GroupColumn) -> Vec<usize> {
        let is_wanted = |(_, column): &(usize, &GroupColumn)| **column == wanted;
        self.group.iter().enumerate().filter(is_wanted).map(|(place, _)| place).collect()
    }

    /// The type in which the ends of slices are kept.
    fn end_type() -> DataType {
        DataType::Timestamp(TimeUnit::Millisecond, None)
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + 'static> {
        let types: Vec<DataType> =
            self.input.fields().iter().map(|field| field.data_type().clone()).collect();
        let aggregates = Aggregates::try_new(&self.calls, &types, self.retracting)?;
        let keys = self.keys();
        let mut key_fields: Vec<_> = keys.iter().map(|key| self.input.field(*key).clone()).collect();
        key_fields.push(Field::new("$slice_end", SliceAggregateNode::end_type(), false));
        let groups = KeyedAggregates::try_new(key_fields, keys.len(), aggregates, true, false)?;
        Ok(SliceAggregate::new(self.clone(), keys, groups))
    }
}

impl StreamNode for SliceAggregateNode {
    fn name(&self) -> &'static str {
        "WindowAggregate"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.keys();
        let keys: Vec<_> = keys.iter().map(|key| self.input.field(*key).name().as_str()).collect();
        let calls: Vec<_> = self.calls.iter().map(AggregateCall::to_string).collect();
        let window = self.windows.assigner();
        let (keys, calls, time) = (keys.join(", "), calls.join(", "), self.windows.time_name());
        write!(f, "key=[{keys}], window=[{window}], time_col=[{time}], slices=[true], aggr=[{calls}]")
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let time = self.places(GroupColumn::WindowTime);
        let rowtime = |column: &usize| TimeAttribute { column: *column, kind: TimeAttributeKind::Rowtime };
        let kind = inputs[0].time_attribute(self.windows.time_column());
        Ok(StreamTraits {
            mode: ChangelogMode::INSERT_ONLY,
            upsert_keys: vec![(0..self.group.len()).collect()],
            time_attributes: time.iter().map(rowtime).collect(),
            window: Some(WindowProperties {
                start: self.places(GroupColumn::WindowStart),
                end: self.places(GroupColumn::WindowEnd),
                time: time.clone(),
                assigner: self.windows.assigner(),
                rowtime: kind == Some(TimeAttributeKind::Rowtime),
                local_time: self.windows.is_local(),
            }),
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
