//! From a checkpoint to a running plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::common::{Result, exec_err};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion_streaming_physical_plan::runtime::{
    Checkpoint, CheckpointCoordinator, JobScope, OperatorId, StreamExec,
};

use crate::checkpoint::CheckpointStorage;
use crate::tables::{Committer, SinkNode};

/// What a job starts from.
#[derive(Debug)]
pub(super) struct StartingPoint {
    pub checkpoint: Checkpoint,
    /// Whether the input had ended there.
    pub finished: bool,
}

impl StartingPoint {
    /// A checkpoint of a folder.
    pub(super) async fn read(storage: &CheckpointStorage, id: u64) -> Result<Self> {
        Ok(StartingPoint { checkpoint: storage.read(id).await?, finished: storage.is_finished(id).await? })
    }
}

/// The sinks of a plan whose output is committed with checkpoints.
#[derive(Debug)]
pub(super) struct Sinks(Vec<(OperatorId, Arc<dyn Committer>)>);

impl Sinks {
    pub(super) fn of(plan: &Arc<dyn ExecutionPlan>) -> Self {
        fn collect(plan: &Arc<dyn ExecutionPlan>, sinks: &mut Vec<(OperatorId, Arc<dyn Committer>)>) {
            if let Some(stream) = plan.downcast_ref::<StreamExec>()
                && let Some(committer) =
                    stream.node().downcast_ref::<SinkNode>().and_then(SinkNode::committer)
            {
                sinks.push((stream.operator_id(), committer));
            }
            plan.children().into_iter().for_each(|child| collect(child, sinks));
        }
        let mut sinks = vec![];
        collect(plan, &mut sinks);
        Sinks(sinks)
    }

    /// Makes visible what a complete checkpoint says has been written.
    pub(super) async fn commit(&self, checkpoint: &Checkpoint) -> Result<()> {
        for (id, committer) in &self.0 {
            let Some(subtasks) = checkpoint.operators.get(id) else { continue };
            let snapshots: Vec<_> = subtasks.values().map(|subtask| subtask.tables.clone()).collect();
            for tables in snapshots {
                committer.commit(tables).await?;
            }
        }
        Ok(())
    }

    /// Removes what has been written and not committed.
    pub(super) async fn clean(&self, job: &JobScope) -> Result<()> {
        for (_, committer) in &self.0 {
            committer.clean(job).await?;
        }
        Ok(())
    }
}

/// The operators of a plan and their partitions.
pub(super) fn operators_of(plan: &Arc<dyn ExecutionPlan>) -> BTreeMap<OperatorId, usize> {
    fn collect(plan: &Arc<dyn ExecutionPlan>, operators: &mut BTreeMap<OperatorId, usize>) {
        if let Some(stream) = plan.downcast_ref::<StreamExec>() {
            operators.insert(stream.operator_id(), plan.output_partitioning().partition_count());
        }
        plan.children().into_iter().for_each(|child| collect(child, operators));
    }
    let mut operators = BTreeMap::new();
    collect(plan, &mut operators);
    operators
}

/// The coordinator of a plan that starts from a checkpoint. An error where there is state in it that no operator
/// of the plan has, unless that is to be dropped.
pub(super) fn coordinator(
    plan: &Arc<dyn ExecutionPlan>,
    start: Option<StartingPoint>,
    drops_unclaimed: bool,
    last_id: u64,
) -> Result<CheckpointCoordinator> {
    let Some(StartingPoint { checkpoint, finished }) = start else {
        return Ok(CheckpointCoordinator::new(None, None).numbered_after(last_id));
    };
    let operators = operators_of(plan);
    let unclaimed = checkpoint.unclaimed(&operators.keys().cloned().collect());
    if !unclaimed.is_empty() && !drops_unclaimed {
        let names =
            |ids: Vec<&OperatorId>| ids.into_iter().map(OperatorId::to_string).collect::<Vec<_>>().join(", ");
        return exec_err!(
            "checkpoint {} has state of {}, which the query has not; it has {}. Restore the query that the checkpoint \
             is of, or one with the same stateful operators, or have the state dropped with \
             'execution.state-recovery.ignore-unclaimed-state' = 'true'",
            checkpoint.id,
            names(unclaimed),
            names(operators.keys().collect())
        );
    }
    let known: BTreeMap<_, _> =
        checkpoint.operators.iter().map(|(id, subtasks)| (id.clone(), subtasks.len())).collect();
    let mut coordinator = CheckpointCoordinator::new(Some(checkpoint), None).numbered_after(last_id);
    if known != operators {
        coordinator = coordinator.for_changed_plan();
    }
    if drops_unclaimed {
        coordinator = coordinator.dropping_unmatched();
    }
    if finished {
        coordinator = coordinator.at_the_end_of_input();
    }
    Ok(coordinator)
}
