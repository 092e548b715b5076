//! What a streaming plan node is: the trait that every operator's node implements.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::Result;
use datafusion_execution::TaskContext;
use datafusion_execution::memory_pool::MemoryConsumer;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::disk::DiskState;
use super::disk_options::DiskOptions;
use super::driver::DriverParts;
use super::{
    Driver, ElementStream, Operator, OperatorId, OperatorMetrics, OperatorStream, SourceReader, SourceStream,
    StreamEnvironment, SubtaskCheckpoints, elements_of,
};
use crate::changelog::ChangelogMode;
use crate::time::WindowAssigner;

/// A node of a streaming plan. [`StreamExec`](super::StreamExec) makes a DataFusion
/// `ExecutionPlan` of it, does everything that all nodes have in common, and holds its inputs.
///
/// Implement this to add an operator: the node describes itself to the planner and starts its
/// [`Operator`] with [`StreamTask::run`].
pub trait StreamNode: Any + fmt::Debug + Send + Sync {
    /// The name in EXPLAIN, metrics, errors and checkpoints.
    fn name(&self) -> &'static str;

    /// What the node is known by in checkpoints: its name, with that of the table where it reads or
    /// writes one. A changed query is restored where the identities of its stateful nodes are the same.
    fn identity(&self) -> String {
        self.name().to_string()
    }

    /// What EXPLAIN shows behind the name: `key=[k], aggr=[count(*)]`. The changelog mode, keys and
    /// time attributes are added by `StreamExec`.
    fn fmt_arguments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// The schema of the output: the one that the replaced DataFusion node had.
    fn schema(&self) -> SchemaRef;

    /// What is known of the output, given what is known of the inputs; an error where the node
    /// cannot work on such inputs.
    fn traits(&self, inputs: &[&StreamTraits]) -> Result<StreamTraits>;

    /// How the rows of an input must be spread over its partitions.
    fn required_distribution(&self, input: usize) -> Distribution {
        let _ = input;
        Distribution::Any
    }

    /// The key by which the node takes the changes of an input, if it is not simply by their content: a
    /// changelog that has another key is brought under this one.
    fn required_upsert_key(&self, input: usize) -> Option<Vec<usize>> {
        let _ = input;
        None
    }

    /// The columns of an input that decide which rows are put out, and what the columns `output` of them
    /// are; `None`: all.
    fn depends_on(&self, input: usize, output: &[usize]) -> Option<Vec<usize>> {
        let _ = (input, output);
        None
    }

    /// Whether the node needs the `-U` rows of an input, given whether its own consumer needs `-U`.
    /// The default is that of a node that passes rows through.
    fn needs_update_before(&self, input: usize, output_needed: bool) -> bool {
        let _ = input;
        output_needed
    }

    /// The node as it is when its consumer needs, or does not need, `-U` rows; `None` where it
    /// makes no difference.
    fn with_update_before(&self, needed: bool) -> Option<Arc<dyn StreamNode>> {
        let _ = needed;
        None
    }

    /// The number of output partitions, given those of the inputs; that of the first input by
    /// default.
    fn partitions(&self, inputs: &[usize]) -> usize {
        inputs.first().copied().unwrap_or(1)
    }

    /// Whether a node without inputs never ends.
    fn is_unbounded(&self) -> bool {
        false
    }

    /// The expressions that the node evaluates.
    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![]
    }

    /// Starts a partition.
    fn start(&self, task: StreamTask<'_>) -> Result<ElementStream>;
}

impl dyn StreamNode {
    /// The node as a concrete type, for planner rules that look for it.
    pub fn downcast_ref<T: StreamNode>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}

/// How rows must be spread over partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Distribution {
    /// It does not matter.
    Any,
    /// All in one partition.
    Single,
    /// Rows that agree in these columns in the same partition.
    Hash(Vec<usize>),
}

/// What the planner knows of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamTraits {
    /// The row kinds that may come.
    pub mode: ChangelogMode,
    /// Sets of columns each of which identifies a row of the table that the stream describes.
    pub upsert_keys: Vec<Vec<usize>>,
    /// The columns that are time attributes.
    pub time_attributes: Vec<TimeAttribute>,
    /// Set where rows are assigned to windows.
    pub window: Option<WindowProperties>,
    /// For streams with updates: how an update changes each column. Empty where nothing is known.
    pub monotonicity: Vec<Monotonicity>,
    /// Columns that a filter has found to be 0 or more, or NULL.
    pub never_negative: Vec<usize>,
}

/// How an update changes the value of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Monotonicity {
    /// It does not.
    Constant,
    /// The new value is not less than the old one.
    Increasing,
    /// The new value is not greater than the old one.
    Decreasing,
    /// Either way.
    NotMonotonic,
}

impl Default for StreamTraits {
    /// Those of any DataFusion table: append-only rows without keys or time.
    fn default() -> Self {
        StreamTraits {
            mode: ChangelogMode::INSERT_ONLY,
            upsert_keys: vec![],
            time_attributes: vec![],
            window: None,
            monotonicity: vec![],
            never_negative: vec![],
        }
    }
}

impl StreamTraits {
    /// The kind of time attribute that a column is.
    pub fn time_attribute(&self, column: usize) -> Option<TimeAttributeKind> {
        self.time_attributes
            .iter()
            .find(|attribute| attribute.column == column)
            .map(|attribute| attribute.kind)
    }

    /// How an update changes a column.
    pub fn monotonicity_of(&self, column: usize) -> Monotonicity {
        match self.mode.is_insert_only() {
            true => Monotonicity::Constant,
            false => self.monotonicity.get(column).copied().unwrap_or(Monotonicity::NotMonotonic),
        }
    }

    /// The traits of a projection to `width` columns, that puts input column `c` at each of the places
    /// `places(c)`.
    pub fn project(&self, width: usize, places: impl Fn(usize) -> Vec<usize>) -> StreamTraits {
        let mut monotonicity = vec![Monotonicity::NotMonotonic; width];
        for (column, change) in self.monotonicity.iter().enumerate() {
            for place in places(column) {
                monotonicity[place] = *change;
            }
        }
        let place = |column: &usize| places(*column).first().copied();
        let key = |key: &Vec<usize>| key.iter().map(place).collect::<Option<Vec<_>>>();
        let attribute = |attribute: &TimeAttribute| {
            places(attribute.column)
                .into_iter()
                .map(|column| TimeAttribute { column, ..*attribute })
                .collect::<Vec<_>>()
        };
        StreamTraits {
            mode: self.mode,
            upsert_keys: self.upsert_keys.iter().filter_map(key).collect(),
            time_attributes: self.time_attributes.iter().flat_map(attribute).collect(),
            window: self.window.as_ref().map(|window| WindowProperties {
                start: window.start.iter().flat_map(|column| places(*column)).collect(),
                end: window.end.iter().flat_map(|column| places(*column)).collect(),
                time: window.time.iter().flat_map(|column| places(*column)).collect(),
                ..window.clone()
            }),
            monotonicity,
            never_negative: self.never_negative.iter().flat_map(|column| places(*column)).collect(),
        }
    }
}

/// A column that is a time attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeAttribute {
    /// The column.
    pub column: usize,
    /// Its kind.
    pub kind: TimeAttributeKind,
}

/// The kinds of time attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeAttributeKind {
    /// Event time: watermarks go with it.
    Rowtime,
    /// Processing time.
    Proctime,
}

/// The columns in which a stream says which window its rows belong to. A column may stand in
/// several places, or in none any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowProperties {
    /// The places of `window_start`.
    pub start: Vec<usize>,
    /// The places of `window_end`.
    pub end: Vec<usize>,
    /// The places of `window_time`.
    pub time: Vec<usize>,
    /// How the windows were made.
    pub assigner: WindowAssigner,
    /// Whether the windows are over event time.
    pub rowtime: bool,
    /// Whether the window columns are wall-clock times of the session's zone, because the time
    /// attribute is a TIMESTAMP_LTZ: the windows then fire when that wall clock strikes.
    pub local_time: bool,
}

/// A partition of a node that is about to start.
#[derive(Debug)]
pub struct StreamTask<'a> {
    /// The identity of the node in its plan.
    pub id: OperatorId,
    /// The partition, which is the number of the subtask.
    pub partition: usize,
    /// The number of partitions.
    pub partitions: usize,
    /// DataFusion's context: memory pool, options.
    pub context: Arc<TaskContext>,
    /// The inputs.
    pub inputs: &'a [Arc<dyn ExecutionPlan>],
    /// The node's metrics.
    pub metrics: &'a ExecutionPlanMetricsSet,
}

impl StreamTask<'_> {
    /// The environment: clock and checkpoints.
    pub fn environment(&self) -> Arc<StreamEnvironment> {
        StreamEnvironment::of(&self.context)
    }

    /// The checkpoints of the partition, for nodes that acknowledge barriers themselves.
    pub fn checkpoints(&self) -> Option<SubtaskCheckpoints> {
        let coordinator = self.environment().checkpoints.clone()?;
        Some(SubtaskCheckpoints { coordinator, operator: self.id.clone(), subtask: self.partition })
    }

    /// The elements of an input's partition of the same number.
    pub fn input(&self, input: usize) -> Result<ElementStream> {
        elements_of(&self.inputs[input], self.partition, &self.context)
    }

    /// Runs an operator over the inputs.
    pub fn run(self, operator: impl Operator + 'static) -> Result<ElementStream> {
        let ports = (0..self.inputs.len()).map(|input| self.input(input)).collect::<Result<Vec<_>>>()?;
        self.run_over(operator, ports)
    }

    /// Runs the operator of a node over its inputs; keyed state that is too large for the memory goes to
    /// disk where the session is set so (`'state.backend.type' = 'disk'`). `operator` makes one without state.
    pub fn run_node<N, O>(self, node: &N, operator: fn(&N) -> Result<O>) -> Result<ElementStream>
    where
        N: StreamNode + Clone,
        O: Operator + 'static,
    {
        let ports = (0..self.inputs.len()).map(|input| self.input(input)).collect::<Result<Vec<_>>>()?;
        let disk = match DiskOptions::of(&self.context) {
            None => None,
            Some(options) => {
                let inputs = (0..ports.len()).map(|input| node.required_distribution(input)).collect();
                let node = node.clone();
                let rebuild = move || Ok(Box::new(operator(&node)?) as Box<dyn Operator>);
                DiskState::try_new(Box::new(rebuild), inputs, options, self.context.memory_pool())?
            }
        };
        self.drive(operator(node)?, ports, disk)
    }

    /// Runs an operator over streams that are not simply its inputs.
    pub fn run_over(
        self,
        operator: impl Operator + 'static,
        ports: Vec<ElementStream>,
    ) -> Result<ElementStream> {
        self.drive(operator, ports, None)
    }

    fn drive(
        self,
        operator: impl Operator + 'static,
        ports: Vec<ElementStream>,
        disk: Option<DiskState>,
    ) -> Result<ElementStream> {
        let environment = self.environment();
        let consumer = MemoryConsumer::new(format!("{}[{}]", self.id.name, self.partition));
        let driver = Driver::try_new(
            Box::new(operator),
            ports.len(),
            DriverParts {
                batch_size: self.context.session_config().batch_size(),
                metrics: Arc::new(OperatorMetrics::new(self.metrics, self.partition)),
                reservation: consumer.register(self.context.memory_pool()),
                checkpoints: environment.checkpoints.clone(),
                id: self.id,
                subtask: self.partition,
                subtasks: self.partitions,
                disk,
            },
        )?;
        Ok(Box::pin(OperatorStream::new(driver, ports, Arc::clone(&environment.clock))))
    }

    /// Runs a source.
    pub fn run_source(self, reader: impl SourceReader + 'static) -> Result<ElementStream> {
        let environment = self.environment();
        SourceStream::start(
            Box::new(reader),
            self.id,
            (self.partition, self.partitions),
            self.context.session_config().batch_size(),
            environment.checkpoints.clone(),
            OperatorMetrics::new(self.metrics, self.partition),
        )
    }

    /// The number of partitions of an input.
    pub fn input_partitions(&self, input: usize) -> usize {
        self.inputs[input].output_partitioning().partition_count()
    }
}
