//! The plan node that all streaming operators share.

use std::fmt;
use std::sync::Arc;

use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{Result, internal_err};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion_physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions, SchedulingType,
};
use datafusion_physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use futures::StreamExt;

use super::source::native_elements;
use super::{
    ElementStream, OperatorId, StreamElement, StreamNode, StreamTask, StreamTraits, TimeAttributeKind,
};

/// A [`StreamNode`] with its inputs, as a DataFusion `ExecutionPlan`.
///
/// Between nodes of this type flow [`StreamElement`]s ([`StreamExec::execute_elements`]); to any
/// other parent it is a plan that yields record batches, which only makes sense where the changelog
/// is insert-only.
#[derive(Debug, Clone)]
pub struct StreamExec {
    node: Arc<dyn StreamNode>,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    traits: StreamTraits,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    number: usize,
}

impl StreamExec {
    /// A node over its inputs; an error where it cannot work on them.
    pub fn try_new(node: Arc<dyn StreamNode>, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Self> {
        let native = StreamTraits::default();
        let input_traits: Vec<_> = inputs.iter().map(|input| traits_of(input).unwrap_or(&native)).collect();
        let traits = node.traits(&input_traits)?;
        let partitions = inputs.iter().map(|input| input.output_partitioning().partition_count());
        let partitions = node.partitions(&partitions.collect::<Vec<_>>());
        let is_unbounded = |input: &Arc<dyn ExecutionPlan>| input.boundedness().is_unbounded();
        let boundedness = if node.is_unbounded() || inputs.iter().any(is_unbounded) {
            Boundedness::Unbounded { requires_infinite_memory: false }
        } else {
            Boundedness::Bounded
        };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(node.schema()),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            boundedness,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        Ok(StreamExec {
            node,
            inputs,
            traits,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            number: 0,
        })
    }

    /// [`StreamExec::try_new`], as a plan.
    pub fn plan(
        node: impl StreamNode + 'static,
        inputs: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(StreamExec::try_new(Arc::new(node), inputs)?))
    }

    /// The node.
    pub fn node(&self) -> &Arc<dyn StreamNode> {
        &self.node
    }

    /// What is known of the output.
    pub fn traits(&self) -> &StreamTraits {
        &self.traits
    }

    /// The inputs.
    pub fn inputs(&self) -> &[Arc<dyn ExecutionPlan>] {
        &self.inputs
    }

    /// The plan node with its number among those of its identity, by which its state is known in
    /// checkpoints.
    pub fn numbered(&self, number: usize) -> Self {
        StreamExec { number, ..self.clone() }
    }

    /// The identity of the operator in checkpoints.
    pub fn operator_id(&self) -> OperatorId {
        OperatorId { name: self.node.identity(), number: self.number }
    }

    /// The elements of a partition.
    pub fn execute_elements(&self, partition: usize, context: &Arc<TaskContext>) -> Result<ElementStream> {
        self.node.start(StreamTask {
            id: self.operator_id(),
            partition,
            partitions: self.properties.output_partitioning().partition_count(),
            context: Arc::clone(context),
            inputs: &self.inputs,
            metrics: &self.metrics,
        })
    }

    fn fmt_traits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.node.schema();
        let names = |columns: &[usize]| {
            let names = columns.iter().map(|column| schema.field(*column).name().as_str());
            names.collect::<Vec<_>>().join(", ")
        };
        write!(f, "mode=[{}]", self.traits.mode)?;
        for key in &self.traits.upsert_keys {
            write!(f, ", upsert_key=[{}]", names(key))?;
        }
        for (kind, label) in
            [(TimeAttributeKind::Rowtime, "rowtime"), (TimeAttributeKind::Proctime, "proctime")]
        {
            let attributes = self.traits.time_attributes.iter().filter(|attribute| attribute.kind == kind);
            let columns: Vec<_> = attributes.map(|attribute| attribute.column).collect();
            if !columns.is_empty() {
                write!(f, ", {label}=[{}]", names(&columns))?;
            }
        }
        Ok(())
    }
}

/// The traits of a streaming plan; `None` for any other plan.
fn traits_of(plan: &Arc<dyn ExecutionPlan>) -> Option<&StreamTraits> {
    plan.downcast_ref::<StreamExec>().map(StreamExec::traits)
}

/// The elements of a partition of any plan: of one that is not streaming, its batches as inserts,
/// and then the end of time.
pub fn elements_of(
    plan: &Arc<dyn ExecutionPlan>,
    partition: usize,
    context: &Arc<TaskContext>,
) -> Result<ElementStream> {
    match plan.downcast_ref::<StreamExec>() {
        Some(stream) => stream.execute_elements(partition, context),
        None => Ok(native_elements(plan.execute(partition, Arc::clone(context))?)),
    }
}

impl DisplayAs for StreamExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Arguments<'a>(&'a dyn StreamNode);
        impl fmt::Display for Arguments<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt_arguments(f)
            }
        }
        let arguments = Arguments(self.node.as_ref()).to_string();
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "{}: ", self.node.name())?;
                if !arguments.is_empty() {
                    write!(f, "{arguments}, ")?;
                }
                self.fmt_traits(f)
            }
            DisplayFormatType::TreeRender => {
                if !arguments.is_empty() {
                    writeln!(f, "{arguments}")?;
                }
                self.fmt_traits(f)
            }
        }
    }
}

impl ExecutionPlan for StreamExec {
    fn name(&self) -> &str {
        self.node.name()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }

    /// Streaming nodes place their own exchanges: DataFusion's must stay out.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false; self.inputs.len()]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false; self.inputs.len()]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for expression in self.node.expressions() {
            if f(expression)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = StreamExec::try_new(Arc::clone(&self.node), children)?;
        Ok(Arc::new(plan.numbered(self.number)))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let name = self.node.name();
        let elements = self.execute_elements(partition, &context)?;
        let batches = elements.filter_map(move |element| async move {
            match element {
                Ok(StreamElement::Data(changes)) if changes.kinds().is_none() => {
                    Some(Ok(changes.into_parts().0))
                }
                Ok(StreamElement::Data(_)) => {
                    Some(internal_err!("updates of {name} were about to be read as plain rows"))
                }
                Ok(_) => None,
                Err(error) => Some(Err(error)),
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.node.schema(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
