//! GROUP BY window_start, window_end on slices: each row is folded once, however many windows it is in.

mod operator;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::Result;

use self::operator::SliceAggregate;
use super::aggregate::AggregateCall;
use super::local_window_aggregate::{LocalWindowAggregateNode, Partials};
use super::window_aggregate::GroupColumn;
use super::window_aggregate::group::{WindowGroup, calls_of, names_of};
use super::window_aggregate::open::{OpenWindows, Schedule, aggregates_of, key_fields};
use super::window_tvf::WindowTvfNode;
use crate::changelog::ChangelogMode;
use crate::runtime::{
    Distribution, ElementStream, Operator, StreamNode, StreamTask, StreamTraits, WindowProperties,
};
use crate::time::Slicing;

/// Flink's window aggregation on slices: the windows of HOP and CUMULATE are made of slices as long as
/// the slide or the step; a window of TUMBLE is a slice. A row is folded into its slice; when a window
/// fires, the states of its slices are merged.
///
/// A row counts in those of its windows that have not fired; it is late, dropped and counted, if all
/// have.
#[derive(Debug, Clone)]
pub struct SliceAggregateNode {
    windows: WindowTvfNode,
    group: WindowGroup,
    calls: Vec<AggregateCall>,
    input: SchemaRef,
    /// The rows that are aggregated: the input, or what its partial aggregates are of.
    rows: SchemaRef,
    schema: SchemaRef,
    retracting: bool,
    partials: Option<Partials>,
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
        SliceAggregateNode {
            windows,
            group: WindowGroup::new(group),
            calls,
            rows: Arc::clone(&input),
            input,
            schema,
            retracting: !mode.is_insert_only(),
            partials: None,
        }
    }

    /// The node as the second of two phases: its input are the partial aggregates that `local` makes of
    /// its rows.
    pub fn with_partials(self, local: &LocalWindowAggregateNode) -> Self {
        let partials = local.partials();
        SliceAggregateNode {
            group: self.group.with_keys(&partials.keys()),
            input: local.schema(),
            partials: Some(partials),
            ..self
        }
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<impl Operator + use<>> {
        let aggregates = aggregates_of(&self.calls, &self.rows, self.retracting)?;
        let keys = self.group.keys();
        let fields = key_fields(&keys, &self.input);
        let slices = OpenWindows::try_new("slices", keys, fields, aggregates, self.partials)?;
        let slicing = Some(Slicing::of(self.windows.assigner()));
        let zone = self.windows.zone();
        let slices = slices.scheduled(Schedule { zone, rowtime: true, slicing, lateness: 0 });
        Ok(SliceAggregate::new(self.clone(), slices))
    }
}

impl StreamNode for SliceAggregateNode {
    fn name(&self) -> &'static str {
        if self.partials.is_some() { "GlobalWindowAggregate" } else { "WindowAggregate" }
    }

    /// The same in one phase and in two, which have the same state: whether there are two depends on the
    /// parallelism.
    fn identity(&self) -> String {
        "WindowAggregate".to_string()
    }

    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (keys, calls) = (names_of(&self.group.keys(), &self.input), calls_of(&self.calls));
        let (window, time) = (self.windows.assigner(), self.windows.time_name());
        write!(f, "key=[{keys}], window=[{window}], time_col=[{time}], slices=[true], aggr=[{calls}]")
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, _inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let window = WindowProperties {
            start: vec![],
            end: vec![],
            time: vec![],
            assigner: self.windows.assigner(),
            rowtime: true,
            local_time: self.windows.is_local(),
        };
        Ok(self.group.traits(&window, ChangelogMode::INSERT_ONLY))
    }

    fn required_distribution(&self, _input: usize) -> Distribution {
        self.group.distribution()
    }

    fn needs_update_before(&self, _input: usize, _output_needed: bool) -> bool {
        true
    }

    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream> {
        task.run_node(self, Self::operator)
    }
}
