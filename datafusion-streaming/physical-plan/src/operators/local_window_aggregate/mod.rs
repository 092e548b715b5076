//! The first of two phases of a window aggregation: partial aggregates of slices, before the exchange.

mod operator;
mod partials;

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion_common::Result;

use self::operator::LocalWindowAggregate;
pub(crate) use self::partials::Partials;
use super::aggregate::AggregateCall;
use super::local_group_aggregate::PARTIAL_ROWS;
use super::window_aggregate::group::{calls_of, names_of};
use super::window_aggregate::open::{OpenWindows, aggregates_of, key_fields};
use super::window_tvf::WindowTvfNode;
use crate::runtime::{ElementStream, Operator, StreamNode, StreamTask, StreamTraits};
use crate::time::{LocalZone, Slicing, millis_of};

/// Where the slice of a row comes from.
#[derive(Debug, Clone)]
pub enum SliceSource {
    /// From its time: slices of these windows.
    Time(WindowTvfNode),
    /// From a column with the end of its window, a wall-clock time of this zone: that is the slice.
    Window {
        /// The column.
        end: usize,
        /// How windows are described in EXPLAIN.
        window: String,
        /// The zone.
        zone: LocalZone,
    },
}

impl SliceSource {
    /// The zone of the ends of slices.
    fn zone(&self) -> LocalZone {
        match self {
            SliceSource::Time(windows) => windows.zone(),
            SliceSource::Window { zone, .. } => *zone,
        }
    }

    /// The ends of the slices of rows.
    fn ends(&self, rows: &RecordBatch) -> Result<Vec<i64>> {
        match self {
            SliceSource::Time(windows) => {
                let slicing = Slicing::of(windows.assigner());
                Ok(windows.times(rows)?.iter().map(|time| slicing.slice_end(*time)).collect())
            }
            SliceSource::Window { end, .. } => Ok(millis_of(rows.column(*end))?.into_owned()),
        }
    }
}

/// Flink's LocalWindowAggregate: for each slice and key one row, of the key, the end of the slice, the
/// number of rows less retractions, and the state of the aggregates. A slice leaves before the watermark
/// that passes its end, and all do before a checkpoint: the second phase then finds the same rows late
/// as it would without a first.
#[derive(Debug, Clone)]
pub struct LocalWindowAggregateNode {
    keys: Vec<usize>,
    slices: SliceSource,
    calls: Vec<AggregateCall>,
    input: SchemaRef,
    retracting: bool,
    schema: SchemaRef,
}

impl LocalWindowAggregateNode {
    /// Groups rows of `input` by the columns `keys` and their `slices`. `retracting` tells whether they
    /// may be retractions.
    pub fn try_new(
        keys: Vec<usize>,
        slices: SliceSource,
        calls: Vec<AggregateCall>,
        input: SchemaRef,
        retracting: bool,
    ) -> Result<Self> {
        let schema = Arc::new(Schema::empty());
        let mut node = LocalWindowAggregateNode { keys, slices, calls, input, retracting, schema };
        let mut fields = key_fields(&node.keys, &node.input);
        if retracting {
            fields.push(Field::new("$inputs", DataType::Int64, false));
        }
        fields.push(Field::new(PARTIAL_ROWS, DataType::Int64, false));
        fields.extend(node.open()?.groups.aggregates.partial_fields());
        node.schema = Arc::new(Schema::new(fields));
        Ok(node)
    }

    /// Where the parts of the output are.
    pub(crate) fn partials(&self) -> Partials {
        Partials::new(self.keys.len(), self.retracting)
    }

    fn open(&self) -> Result<OpenWindows> {
        let aggregates = aggregates_of(&self.calls, &self.input, self.retracting)?;
        let fields = key_fields(&self.keys, &self.input);
        OpenWindows::try_new("slices", self.keys.clone(), fields, aggregates, None)
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + use<>> {
        Ok(LocalWindowAggregate::new(self.clone(), self.open()?))
    }
}

impl StreamNode for LocalWindowAggregateNode {
    fn name(&self) -> &'static str {
        "LocalWindowAggregate"
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let window = match &self.slices {
            SliceSource::Time(windows) => {
                format!("{}], time_col=[{}", windows.assigner(), windows.time_name())
            }
            SliceSource::Window { window, .. } => window.clone(),
        };
        let (keys, calls) = (names_of(&self.keys, &self.input), calls_of(&self.calls));
        write!(f, "key=[{keys}], window=[{window}], aggr=[{calls}]")
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, _inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        Ok(StreamTraits::default())
    }

    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        true
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run_node(self, Self::operator)
    }
}

#[cfg(test)]
mod tests;
