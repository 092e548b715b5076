//! GROUP BY window_start, window_end: one row for each window and key, when the watermark passes.

pub(crate) mod group;
pub(crate) mod open;
mod operator;
mod results;
mod strategy;
mod updating;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::Result;

pub use self::group::GroupColumn;
pub use self::strategy::EmitStrategy;

use self::group::{WindowGroup, calls_of, names_of};
use self::open::{OpenWindows, Schedule, aggregates_of, key_fields};
use self::operator::WindowAggregate;
use self::updating::UpdatingWindows;
use super::aggregate::AggregateCall;
use super::local_window_aggregate::{LocalWindowAggregateNode, Partials, SliceSource};
use crate::changelog::{ChangelogMode, RowKind};
use crate::runtime::{
    Distribution, ElementStream, Operator, StreamNode, StreamTask, StreamTraits, WindowProperties,
};
use crate::time::{LocalZone, Watermark};

/// Flink's WindowAggregate over rows that carry their window: emits the aggregates of a window once,
/// when the watermark passes its end. Rows of windows that have fired are late: dropped and counted.
///
/// Over processing time a window fires when the clock passes its end, and no row is late.
///
/// With an [`EmitStrategy`] a window emits before its end, too, or takes late rows for a time, which
/// update what it has emitted; a window that gets its first row then is emitted at once.
#[derive(Debug, Clone)]
pub struct WindowAggregateNode {
    group: WindowGroup,
    window_end: usize,
    window: WindowProperties,
    zone: LocalZone,
    calls: Vec<AggregateCall>,
    input: SchemaRef,
    /// The rows that are aggregated: the input, or what its partial aggregates are of.
    rows: SchemaRef,
    schema: SchemaRef,
    retracting: bool,
    emit: EmitStrategy,
    partials: Option<Partials>,
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
            group: WindowGroup::new(group),
            window_end,
            window: window.clone(),
            zone,
            calls,
            rows: Arc::clone(&input),
            input,
            schema,
            retracting,
            emit: EmitStrategy::AT_END,
            partials: None,
        }
    }

    /// The node with another strategy than to emit at the ends of windows.
    pub fn with_emit(self, emit: EmitStrategy) -> Self {
        WindowAggregateNode { emit, ..self }
    }

    /// The node as the second of two phases: its input are the partial aggregates that `local` makes of
    /// its rows. Only for windows that emit at their ends.
    pub fn with_partials(self, local: &LocalWindowAggregateNode) -> Self {
        let partials = local.partials();
        WindowAggregateNode {
            group: self.group.with_keys(&partials.keys()),
            window_end: partials.end(),
            input: local.schema(),
            partials: Some(partials),
            ..self
        }
    }

    /// Whether windows emit once.
    pub fn fires_once(&self) -> bool {
        !self.emit.updates()
    }

    /// The calls.
    pub fn calls(&self) -> &[AggregateCall] {
        &self.calls
    }

    /// The columns of the input that are keys, the window's aside.
    pub fn keys(&self) -> Vec<usize> {
        self.group.keys()
    }

    /// The first of two phases, for [`WindowAggregateNode::with_partials`].
    pub fn local_phase(&self) -> Result<LocalWindowAggregateNode> {
        let (end, window, zone) = (self.window_end, self.window.assigner.to_string(), self.zone);
        let slices = SliceSource::Window { end, window, zone };
        let (keys, calls, input) = (self.keys(), self.calls.clone(), Arc::clone(&self.input));
        LocalWindowAggregateNode::try_new(keys, slices, calls, input, self.retracting)
    }

    /// Whether a window that ends at `end` has fired when the watermark stands at `watermark`.
    fn has_fired(&self, end: i64, watermark: Watermark) -> bool {
        self.zone.has_passed(end, watermark.0)
    }

    /// Whether it takes no rows any more by then.
    fn is_gone(&self, end: i64, watermark: Watermark) -> bool {
        self.zone.has_passed(end.saturating_add(self.emit.lateness), watermark.0)
    }

    /// The operator of the node.
    pub fn operator(&self) -> Result<Box<dyn Operator>> {
        let aggregates = aggregates_of(&self.calls, &self.rows, self.retracting)?;
        let keys = self.group.keys();
        let fields = key_fields(&keys, &self.input);
        let windows = OpenWindows::try_new("windows", keys, fields, aggregates, self.partials)?;
        let windows = windows.scheduled(Schedule {
            zone: self.zone,
            rowtime: self.window.rowtime,
            slicing: None,
            lateness: self.emit.lateness,
        });
        Ok(match self.emit.updates() {
            true => Box::new(UpdatingWindows::new(self.clone(), windows)),
            false => Box::new(WindowAggregate::new(self.clone(), windows)),
        })
    }
}

impl StreamNode for WindowAggregateNode {
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
        write!(f, "key=[{keys}], window=[{}], aggr=[{calls}]", self.window.assigner)?;
        match self.emit.updates() {
            true => write!(f, ", emit=[{}]", self.emit),
            false => Ok(()),
        }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn traits(&self, _inputs: &[&StreamTraits]) -> Result<StreamTraits> {
        let mode = match (self.emit.updates(), self.retracting) {
            (false, _) => ChangelogMode::INSERT_ONLY,
            (true, true) => ChangelogMode::ALL,
            (true, false) => ChangelogMode::ALL.without(RowKind::Delete),
        };
        Ok(self.group.traits(&self.window, mode))
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

#[cfg(test)]
mod tests;
