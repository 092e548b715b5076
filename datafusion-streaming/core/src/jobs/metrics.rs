//! What is measured of a job.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use datafusion_streaming_physical_plan::operators::native_sink::NativeSinkNode;
use datafusion_streaming_physical_plan::runtime::StreamExec;

use crate::checkpoint::CheckpointInfo;
use crate::tables::SinkNode;

/// The measures of a running job. Counts are since its last start; times are in milliseconds since the epoch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobMetrics {
    /// Rows that the sources have read.
    pub rows_read: u64,
    /// Rows that the sinks have been given.
    pub rows_written: u64,
    /// Rows dropped because the watermark had passed them.
    pub late_rows: u64,
    /// Retractions of rows that an operator does not have.
    pub ignored_retractions: u64,
    /// Bytes of state in memory.
    pub state_bytes: u64,
    /// Bytes of state on disk.
    pub disk_bytes: u64,
    /// How far event time has come at the sinks, by the one that is furthest behind; `None` before the first
    /// watermark, and for times before 1970; the largest number at the end of the input.
    pub watermark: Option<i64>,
    /// How far that is behind the clock, in milliseconds.
    pub watermark_lag: Option<i64>,
    /// The last checkpoint that was completed.
    pub last_checkpoint: Option<CheckpointInfo>,
    /// How long ago that was, in milliseconds.
    pub checkpoint_age: Option<i64>,
    /// Checkpoints completed since the job was started, over all restarts.
    pub checkpoints: u64,
    /// How often the job has been started again after a failure.
    pub restarts: u64,
    /// Each operator, from the root on.
    pub operators: Vec<OperatorProgress>,
}

/// The measures of an operator, over its partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperatorProgress {
    /// Its name in checkpoints and errors.
    pub operator: String,
    /// Rows that came in.
    pub input_rows: u64,
    /// Rows that went out.
    pub output_rows: u64,
    /// Rows dropped because the watermark had passed them.
    pub late_rows: u64,
    /// Bytes of state in memory.
    pub state_bytes: u64,
    /// Bytes of state on disk.
    pub disk_bytes: u64,
}

impl JobMetrics {
    /// Those that the operators of a plan have counted.
    pub(super) fn of_plan(plan: &Arc<dyn ExecutionPlan>) -> Self {
        let mut metrics = JobMetrics::default();
        let mut watermarks = vec![];
        metrics.add(plan, &mut watermarks);
        metrics.watermark = watermarks.into_iter().min().and_then(|least| i64::try_from(least).ok());
        metrics.watermark = metrics.watermark.filter(|watermark| *watermark > 0);
        metrics
    }

    fn add(&mut self, plan: &Arc<dyn ExecutionPlan>, watermarks: &mut Vec<usize>) {
        if let (Some(stream), Some(set)) = (plan.downcast_ref::<StreamExec>(), plan.metrics()) {
            let sum = |name: &str| set.sum_by_name(name).map_or(0, |value| value.as_usize() as u64);
            let id = stream.operator_id();
            let progress = OperatorProgress {
                operator: id.to_string(),
                input_rows: sum("input_rows"),
                output_rows: set.output_rows().unwrap_or(0) as u64,
                late_rows: sum("late_rows"),
                state_bytes: sum("state_bytes"),
                disk_bytes: sum("disk_bytes"),
            };
            self.late_rows += progress.late_rows;
            self.state_bytes += progress.state_bytes;
            self.disk_bytes += progress.disk_bytes;
            self.ignored_retractions += sum("ignored_retractions");
            let children = stream.inputs();
            if children.iter().all(|child| !child.is::<StreamExec>()) {
                self.rows_read += progress.output_rows;
            }
            if is_sink(stream) {
                self.rows_written += progress.input_rows;
                let each = set.iter().filter(|metric| metric.value().name() == "watermark");
                watermarks.extend(each.map(|metric| metric.value().as_usize()));
            }
            self.operators.push(progress);
        }
        for child in plan.children() {
            self.add(child, watermarks);
        }
    }
}

/// Whether a node is the root of an INSERT.
fn is_sink(stream: &StreamExec) -> bool {
    let node = stream.node();
    node.downcast_ref::<SinkNode>().is_some() || node.downcast_ref::<NativeSinkNode>().is_some()
}
