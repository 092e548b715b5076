//! What is counted for every operator.

use datafusion_physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, Gauge, MetricBuilder,
};

use crate::time::Watermark;

/// The metrics of one partition of an operator, part of its plan node's `MetricsSet`.
#[derive(Debug, Clone)]
pub struct OperatorMetrics {
    /// Output rows and compute time, under DataFusion's names.
    pub baseline: BaselineMetrics,
    /// Rows that came in, over all inputs.
    pub input_rows: Count,
    /// Rows dropped because the watermark had passed them.
    pub late_rows: Count,
    /// Retractions of rows that the operator does not have.
    pub ignored_retractions: Count,
    /// Records and fields of a source that could not be read and were passed over, where the table
    /// asks for that.
    pub parse_errors: Gauge,
    /// Bytes of state held.
    pub state_bytes: Gauge,
    /// Bytes of state on disk.
    pub disk_bytes: Gauge,
    /// How often keys were written to disk.
    pub evictions: Count,
    /// Keys that came back from disk.
    pub keys_loaded: Count,
    /// The merged watermark of the inputs, in milliseconds since the epoch; 0 before the first and
    /// for times before the epoch.
    pub watermark: Gauge,
}

impl OperatorMetrics {
    /// Registers the metrics of a partition.
    pub fn new(set: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        OperatorMetrics {
            baseline: BaselineMetrics::new(set, partition),
            input_rows: MetricBuilder::new(set).counter("input_rows", partition),
            late_rows: MetricBuilder::new(set).counter("late_rows", partition),
            ignored_retractions: MetricBuilder::new(set).counter("ignored_retractions", partition),
            parse_errors: MetricBuilder::new(set).gauge("parse_errors", partition),
            state_bytes: MetricBuilder::new(set).gauge("state_bytes", partition),
            disk_bytes: MetricBuilder::new(set).gauge("disk_bytes", partition),
            evictions: MetricBuilder::new(set).counter("evictions", partition),
            keys_loaded: MetricBuilder::new(set).counter("keys_loaded", partition),
            watermark: MetricBuilder::new(set).gauge("watermark", partition),
        }
    }

    /// Sets how far event time has come.
    pub fn set_watermark(&self, watermark: Watermark) {
        self.watermark.set(usize::try_from(watermark.0).unwrap_or(0));
    }

    /// Metrics that belong to no plan, for operators driven by hand.
    pub fn detached() -> Self {
        OperatorMetrics::new(&ExecutionPlanMetricsSet::new(), 0)
    }
}
