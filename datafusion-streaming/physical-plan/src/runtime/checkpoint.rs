//! Checkpoints: snapshots of all operators at one point of the stream.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::RecordBatch;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::BarrierId;

/// The identity of an operator within its plan: its place and its name. The same text gives the
/// same plan and so the same identities.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperatorId {
    /// The node's number in the plan, in pre-order; 0 is the root.
    pub position: usize,
    /// The node's name.
    pub name: String,
}

impl fmt::Display for OperatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.name, self.position)
    }
}

/// The content of one state table at a checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct TableSnapshot {
    /// The table's name, unique in its operator.
    pub name: String,
    /// Whether the first column is the key group (`UInt16`) of the row: such a table can be cut for
    /// another parallelism. One that is not belongs to its subtask.
    pub keyed: bool,
    /// The rows.
    pub rows: RecordBatch,
}

/// The state of one subtask (partition) of an operator at a checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct SubtaskSnapshot {
    /// The merged watermark of the inputs, in milliseconds since the epoch.
    pub watermark: i64,
    /// The operator's tables.
    pub tables: Vec<TableSnapshot>,
}

/// A complete checkpoint: what a query needs to go on from a point of its input.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// Its number.
    pub id: BarrierId,
    /// The snapshots of each operator, by subtask.
    pub operators: BTreeMap<OperatorId, BTreeMap<usize, SubtaskSnapshot>>,
}

/// Asks the sources of a query for barriers, collects the operators' snapshots, and hands them out
/// again when the query is restored.
#[derive(Debug)]
pub struct CheckpointCoordinator {
    requested: watch::Sender<BarrierId>,
    every_rows: Option<u64>,
    rows: AtomicU64,
    restored: Option<Checkpoint>,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    acknowledged: HashMap<BarrierId, BTreeMap<OperatorId, BTreeMap<usize, SubtaskSnapshot>>>,
    finished: BTreeMap<OperatorId, BTreeMap<usize, SubtaskSnapshot>>,
}

impl CheckpointCoordinator {
    /// A coordinator for a query that starts afresh, or from `restored`. With `every_rows`, a
    /// checkpoint starts each time the sources have emitted that many rows; without, only when
    /// [`CheckpointCoordinator::trigger`] is called.
    pub fn new(restored: Option<Checkpoint>, every_rows: Option<u64>) -> Self {
        let last = restored.as_ref().map_or(0, |checkpoint| checkpoint.id);
        CheckpointCoordinator {
            requested: watch::Sender::new(last),
            every_rows: every_rows.map(|rows| rows.max(1)),
            rows: AtomicU64::new(0),
            restored,
            taken: Mutex::default(),
        }
    }

    /// Starts a checkpoint: every source emits a barrier of the number returned as soon as it can.
    pub fn trigger(&self) -> BarrierId {
        let mut id = 0;
        self.requested.send_modify(|requested| {
            *requested += 1;
            id = *requested;
        });
        id
    }

    /// The checkpoint that was started last.
    pub fn requests(&self) -> watch::Receiver<BarrierId> {
        self.requested.subscribe()
    }

    /// How many rows a source may emit before it has to look for a request again.
    pub(super) fn row_limit(&self) -> Option<usize> {
        self.every_rows.and_then(|rows| usize::try_from(rows).ok())
    }

    /// A source has emitted rows.
    pub(super) fn emitted(&self, rows: usize) {
        let Some(every) = self.every_rows else { return };
        let before = self.rows.fetch_add(rows as u64, Ordering::SeqCst);
        if (before + rows as u64) / every > before / every {
            self.trigger();
        }
    }

    /// A subtask has passed a barrier.
    pub(super) fn acknowledge(
        &self,
        id: BarrierId,
        operator: &OperatorId,
        subtask: usize,
        snapshot: SubtaskSnapshot,
    ) {
        let mut taken = self.taken.lock();
        let operators = taken.acknowledged.entry(id).or_default();
        operators.entry(operator.clone()).or_default().insert(subtask, snapshot);
    }

    /// A subtask has ended: later checkpoints contain its last state.
    pub(super) fn finish(&self, operator: &OperatorId, subtask: usize, snapshot: SubtaskSnapshot) {
        self.taken.lock().finished.entry(operator.clone()).or_default().insert(subtask, snapshot);
    }

    /// The checkpoint, once its barrier has come out of every root of the query; `None` if no
    /// operator has passed the barrier. Forgets the snapshots of earlier ones.
    pub fn complete(&self, id: BarrierId) -> Option<Checkpoint> {
        let mut taken = self.taken.lock();
        let mut operators = taken.acknowledged.remove(&id)?;
        taken.acknowledged.retain(|other, _| *other > id);
        for (operator, subtasks) in &taken.finished {
            let known = operators.entry(operator.clone()).or_default();
            for (subtask, snapshot) in subtasks {
                known.entry(*subtask).or_insert_with(|| snapshot.clone());
            }
        }
        Some(Checkpoint { id, operators })
    }

    /// The snapshots of an operator that this query starts from.
    pub(super) fn restored(&self, operator: &OperatorId) -> Option<&BTreeMap<usize, SubtaskSnapshot>> {
        self.restored.as_ref()?.operators.get(operator)
    }
}
