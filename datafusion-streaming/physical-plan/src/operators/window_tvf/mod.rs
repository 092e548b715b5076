//! The window table functions TUMBLE, HOP and CUMULATE: each row with the windows that it is in.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion_common::{Result, exec_err, plan_err};

use crate::changelog::ChangelogBatch;
use crate::runtime::{
    Context, ElementStream, Operator, Output, StreamNode, StreamTask, StreamTraits, TimeAttribute,
    TimeAttributeKind, WindowProperties,
};
use crate::time::{LocalZone, WindowAssigner, millis_of, timestamps_of};

/// Appends `window_start`, `window_end` and `window_time` to each row, once for each window of its
/// time. Neither drops late rows nor waits for watermarks.
///
/// Of a TIMESTAMP_LTZ time, the windows are those of the wall clock of the session's zone:
/// `window_start` and `window_end` are wall-clock times, `window_time` is an instant again.
#[derive(Debug, Clone)]
pub struct WindowTvfNode {
    time: usize,
    assigner: WindowAssigner,
    zone: LocalZone,
    schema: SchemaRef,
    of_group_by: bool,
}

/// The names of the columns that a window table function adds.
pub const WINDOW_COLUMNS: [&str; 3] = ["window_start", "window_end", "window_time"];

impl WindowTvfNode {
    /// Windows of the timestamp column `time` over rows of `input`. `zone` is the session's.
    pub fn try_new(time: usize, assigner: WindowAssigner, zone: LocalZone, input: &Schema) -> Result<Self> {
        let schema = Arc::new(window_tvf_schema(time, input)?);
        let zone = if is_local(input.field(time).data_type()) { zone } else { LocalZone::UTC };
        Ok(WindowTvfNode { time, assigner, zone, schema, of_group_by: false })
    }

    /// The node as that of a window in GROUP BY, such as `GROUP BY TUMBLE(ts, …)`, which has more
    /// freedom and other options than the table function.
    pub fn with_of_group_by(self, of_group_by: bool) -> Self {
        WindowTvfNode { of_group_by, ..self }
    }

    /// Whether the windows are those of GROUP BY.
    pub fn is_of_group_by(&self) -> bool {
        self.of_group_by
    }

    /// How windows are assigned.
    pub fn assigner(&self) -> WindowAssigner {
        self.assigner
    }

    /// The time column, by index.
    pub fn time_column(&self) -> usize {
        self.time
    }

    /// The time column's name.
    pub fn time_name(&self) -> &str {
        self.time_field().name()
    }

    /// The zone in whose wall-clock time windows are.
    pub fn zone(&self) -> LocalZone {
        self.zone
    }

    /// Whether the time is an instant, whose windows are those of the local wall clock.
    pub fn is_local(&self) -> bool {
        is_local(self.time_field().data_type())
    }

    /// The times of rows, as wall-clock times; an error where one is NULL.
    pub(crate) fn times<'a>(&self, rows: &'a RecordBatch) -> Result<Cow<'a, [i64]>> {
        let column = rows.column(self.time);
        if column.null_count() > 0 {
            return exec_err!(
                "the time column {} of {} is NULL in a row; filter such rows out before the window function",
                self.time_field().name(),
                self.assigner
            );
        }
        let times = millis_of(column)?;
        Ok(match self.zone {
            LocalZone::UTC => times,
            zone => times.iter().map(|time| zone.to_local(*time)).collect::<Vec<_>>().into(),
        })
    }

    /// The operator of the node.
    pub fn operator(&self) -> impl Operator + use<> {
        WindowTvf { node: self.clone() }
    }

    fn time_field(&self) -> &Field {
        self.schema.field(self.time)
    }

    fn input_columns(&self) -> usize {
        self.schema.fields().len() - WINDOW_COLUMNS.len()
    }
}

/// Whether a time is an instant, whose windows are those of the local wall clock.
fn is_local(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, Some(_)))
}

/// The columns of `input` and the three window columns, whose precision is milliseconds.
pub fn window_tvf_schema(time: usize, input: &Schema) -> Result<Schema> {
    let field = input.field(time);
    let DataType::Timestamp(_, zone) = field.data_type() else {
        return plan_err!(
            "the time column {} of a window function must be a timestamp, but it is {}",
            field.name(),
            field.data_type()
        );
    };
    let wall_clock = DataType::Timestamp(TimeUnit::Millisecond, None);
    let instant = DataType::Timestamp(TimeUnit::Millisecond, zone.clone());
    let [start, end, time] = WINDOW_COLUMNS;
    let added = [
        Field::new(start, wall_clock.clone(), false),
        Field::new(end, wall_clock, false),
        Field::new(time, instant, false),
    ];
    let fields: Vec<_> = input.fields().iter().cloned().chain(added.into_iter().map(Arc::new)).collect();
    Ok(Schema::new_with_metadata(fields, input.metadata().clone()))
}

impl StreamNode for WindowTvfNode {
    fn name(&self) -> &'static str {
        "WindowTableFunction"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "window=[{}], time_col=[{}]", self.assigner, self.time_field().name())
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let input = inputs[0];
        let first = self.input_columns();
        let kind = input.time_attribute(self.time);
        let mut traits = input.clone();
        if let Some(kind) = kind {
            traits.time_attributes.push(TimeAttribute { column: first + 2, kind });
        }
        if !self.assigner.is_tumble() {
            let with_window = |mut key: Vec<usize>| {
                key.push(first + 1);
                key
            };
            traits.upsert_keys = traits.upsert_keys.into_iter().map(with_window).collect();
        }
        traits.window = Some(WindowProperties {
            start: vec![first],
            end: vec![first + 1],
            time: vec![first + 2],
            assigner: self.assigner,
            rowtime: kind == Some(TimeAttributeKind::Rowtime),
            local_time: is_local(self.time_field().data_type()),
        });
        Ok(traits)
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run(self.operator())
    }
}

struct WindowTvf {
    node: WindowTvfNode,
}

impl Operator for WindowTvf {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        _cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        let times = self.node.times(changes.batch())?;
        let mut starts = Vec::with_capacity(times.len());
        let mut ends = Vec::with_capacity(times.len());
        let rows = if self.node.assigner.is_tumble() {
            for time in times.iter() {
                self.node.assigner.assign(*time, |window| {
                    starts.push(window.start);
                    ends.push(window.end);
                });
            }
            changes.clone()
        } else {
            let mut indices = vec![];
            for (row, time) in times.iter().enumerate() {
                self.node.assigner.assign(*time, |window| {
                    indices.push(row as u32);
                    starts.push(window.start);
                    ends.push(window.end);
                });
            }
            changes.take(&indices)?
        };
        out.data(with_windows(&rows, starts, ends, self.node.zone, &self.node.schema)?);
        Ok(())
    }
}

/// Rows with the columns of their windows, of which `starts` and `ends` are wall-clock times.
pub(crate) fn with_windows(
    rows: &ChangelogBatch,
    starts: Vec<i64>,
    ends: Vec<i64>,
    zone: LocalZone,
    schema: &SchemaRef,
) -> Result<ChangelogBatch> {
    let times = ends.iter().map(|end| zone.to_instant(end - 1)).collect();
    let mut columns: Vec<ArrayRef> = rows.batch().columns().to_vec();
    for millis in [starts, ends, times] {
        columns.push(timestamps_of(millis, schema.field(columns.len()).data_type())?);
    }
    rows.with_batch(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

#[cfg(test)]
mod tests;
