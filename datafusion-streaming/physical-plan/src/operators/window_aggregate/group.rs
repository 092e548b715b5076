//! What a window aggregation groups by.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion_common::{Result, internal_err};

use crate::changelog::ChangelogMode;
use crate::operators::aggregate::AggregateCall;
use crate::runtime::{Distribution, StreamTraits, TimeAttribute, TimeAttributeKind, WindowProperties};
use crate::time::{LocalZone, TimeWindow, timestamps_of};

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

/// The group columns of a window aggregation, in the order of its output.
#[derive(Debug, Clone)]
pub(crate) struct WindowGroup(Vec<GroupColumn>);

impl WindowGroup {
    pub(crate) fn new(columns: Vec<GroupColumn>) -> Self {
        WindowGroup(columns)
    }

    /// The input columns that are keys, the window's aside.
    pub(crate) fn keys(&self) -> Vec<usize> {
        let key = |column: &GroupColumn| match column {
            GroupColumn::Key(key) => Some(*key),
            _ => None,
        };
        self.0.iter().filter_map(key).collect()
    }

    /// The same group over other columns: `keys` are where its keys are now.
    pub(crate) fn with_keys(&self, keys: &[usize]) -> Self {
        let mut keys = keys.iter();
        let moved = |column: &GroupColumn| match column {
            GroupColumn::Key(key) => GroupColumn::Key(*keys.next().unwrap_or(key)),
            window => *window,
        };
        WindowGroup(self.0.iter().map(moved).collect())
    }

    /// The number of columns.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The places of a window column in the output.
    fn places(&self, wanted: GroupColumn) -> Vec<usize> {
        let is_wanted = |(_, column): &(usize, &GroupColumn)| **column == wanted;
        self.0.iter().enumerate().filter(is_wanted).map(|(place, _)| place).collect()
    }

    /// Rows of the same keys belong together.
    pub(crate) fn distribution(&self) -> Distribution {
        match self.keys() {
            keys if keys.is_empty() => Distribution::Single,
            keys => Distribution::Hash(keys),
        }
    }

    /// The traits of the output, for such windows.
    pub(crate) fn traits(&self, window: &WindowProperties, mode: ChangelogMode) -> StreamTraits {
        let time = self.places(GroupColumn::WindowTime);
        let kind = match window.rowtime {
            true => TimeAttributeKind::Rowtime,
            false => TimeAttributeKind::Proctime,
        };
        StreamTraits {
            mode,
            upsert_keys: vec![(0..self.0.len()).collect()],
            time_attributes: time.iter().map(|column| TimeAttribute { column: *column, kind }).collect(),
            window: Some(WindowProperties {
                start: self.places(GroupColumn::WindowStart),
                end: self.places(GroupColumn::WindowEnd),
                time,
                ..window.clone()
            }),
            monotonicity: vec![],
            never_negative: vec![],
        }
    }

    /// The group columns of rows that belong to `windows`, whose times are the wall clock of `zone`;
    /// `keys` are the values of [`WindowGroup::keys`].
    pub(crate) fn columns(
        &self,
        keys: Vec<ArrayRef>,
        windows: &[TimeWindow],
        zone: LocalZone,
        schema: &Schema,
    ) -> Result<Vec<ArrayRef>> {
        let mut keys = keys.into_iter();
        let column = |(column, field): (&GroupColumn, &Arc<_>)| {
            let field: &arrow::datatypes::Field = field;
            let millis: Vec<i64> = match column {
                GroupColumn::Key(_) => {
                    return match keys.next() {
                        Some(key) => Ok(key),
                        None => internal_err!("a window aggregation lacks the column {}", field.name()),
                    };
                }
                GroupColumn::WindowStart => windows.iter().map(|window| window.start).collect(),
                GroupColumn::WindowEnd => windows.iter().map(|window| window.end).collect(),
                GroupColumn::WindowTime => {
                    windows.iter().map(|window| zone.to_instant(window.end - 1)).collect()
                }
            };
            timestamps_of(millis, field.data_type())
        };
        self.0.iter().zip(schema.fields()).map(column).collect()
    }

    /// Rows of the output: the group columns, as [`WindowGroup::columns`] has them, and the values of the
    /// aggregates.
    pub(crate) fn rows(
        &self,
        keys: Vec<ArrayRef>,
        windows: &[TimeWindow],
        zone: LocalZone,
        values: Vec<ArrayRef>,
        schema: &SchemaRef,
    ) -> Result<RecordBatch> {
        let mut columns = self.columns(keys, windows, zone, schema)?;
        columns.extend(values);
        let options = RecordBatchOptions::new().with_row_count(Some(windows.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
    }
}

/// What EXPLAIN shows of columns and of calls: `k, v` and `count(*), max(v)`.
pub(crate) fn names_of(columns: &[usize], schema: &Schema) -> String {
    let names: Vec<_> = columns.iter().map(|column| schema.field(*column).name().as_str()).collect();
    names.join(", ")
}

/// The calls as EXPLAIN shows them: `count(*), max(v)`.
pub(crate) fn calls_of(calls: &[AggregateCall]) -> String {
    let calls: Vec<_> = calls.iter().map(AggregateCall::to_string).collect();
    calls.join(", ")
}
