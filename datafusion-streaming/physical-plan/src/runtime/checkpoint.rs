//! Checkpoints: snapshots of all operators at one point of the stream.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::RecordBatch;
use datafusion_common::{DataFusionError, Result};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::BarrierId;

/// The identity of an operator within its plan: what it is, and the how manyeth of its kind. Nodes
/// without state that come or go, such as exchanges at another parallelism, leave it as it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperatorId {
    /// The node's [`StreamNode::identity`](super::StreamNode::identity).
    pub name: String,
    /// The number among the nodes of this name, from 0, in pre-order.
    pub number: usize,
}

impl fmt::Display for OperatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.name, self.number)
    }
}

/// An error with the operator in which it came up.
pub fn in_operator(error: DataFusionError, operator: &OperatorId, subtask: usize) -> DataFusionError {
    error.context(format!("operator {operator}, partition {subtask}"))
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
#[derive(Debug, Clone)]
pub struct SubtaskSnapshot {
    /// The merged watermark of the inputs, in milliseconds since the epoch.
    pub watermark: i64,
    /// The watermark of each input, and whether the input was idle.
    pub inputs: Vec<(i64, bool)>,
    /// The operator's tables.
    pub tables: Vec<TableSnapshot>,
    /// Rows of the keyed tables that are not in memory: more than `tables` has.
    pub stored: Option<Arc<dyn StoredRows>>,
}

/// Rows of keyed tables that are too many to be in memory at once.
pub trait StoredRows: fmt::Debug + Send + Sync {
    /// About how many bytes they are.
    fn size(&self) -> u64;

    /// The rows of some key groups, of each keyed table.
    fn read(&self, groups: Range<u16>) -> Result<Vec<TableSnapshot>>;
}

impl PartialEq for SubtaskSnapshot {
    fn eq(&self, other: &Self) -> bool {
        let rows = |snapshot: &Self| snapshot.stored.as_ref().map(|rows| Arc::as_ptr(rows).cast::<()>());
        self.watermark == other.watermark
            && self.inputs == other.inputs
            && self.tables == other.tables
            && rows(self) == rows(other)
    }
}

impl SubtaskSnapshot {
    /// The state of a subtask that goes by no watermark.
    pub fn of_tables(tables: Vec<TableSnapshot>) -> Self {
        SubtaskSnapshot { watermark: i64::MIN, inputs: vec![], tables, stored: None }
    }
}

/// A complete checkpoint: what a query needs to go on from a point of its input.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// Its number.
    pub id: BarrierId,
    /// The snapshots of each operator, by subtask.
    pub operators: BTreeMap<OperatorId, BTreeMap<usize, SubtaskSnapshot>>,
}

impl Checkpoint {
    /// The operators that have state and are not in `plan`.
    pub fn unclaimed(&self, plan: &BTreeSet<OperatorId>) -> Vec<&OperatorId> {
        let has_state = |subtasks: &BTreeMap<usize, SubtaskSnapshot>| {
            let mut tables = subtasks.values().flat_map(|subtask| &subtask.tables);
            tables.any(|table| table.rows.num_rows() > 0)
                || subtasks.values().any(|subtask| subtask.stored.is_some())
        };
        let unclaimed =
            self.operators.iter().filter(|(id, subtasks)| !plan.contains(id) && has_state(subtasks));
        unclaimed.map(|(id, _)| id).collect()
    }
}

/// Asks the sources of a query for barriers, collects the operators' snapshots, and hands them out
/// again when the query is restored.
///
/// One checkpoint is under way at a time: a barrier that overtook another at one input and not at
/// the other would cut the streams at different places.
#[derive(Debug)]
pub struct CheckpointCoordinator {
    requested: watch::Sender<BarrierId>,
    every_rows: Option<u64>,
    rows: AtomicU64,
    /// The barrier behind which sources stop.
    last_barrier: AtomicU64,
    drops_unmatched: bool,
    plan_changed: bool,
    input_has_ended: bool,
    restored: Mutex<Option<Arc<Checkpoint>>>,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    under_way: Option<BarrierId>,
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
            last_barrier: AtomicU64::new(BarrierId::MAX),
            drops_unmatched: false,
            plan_changed: false,
            input_has_ended: false,
            restored: Mutex::new(restored.map(Arc::new)),
            taken: Mutex::default(),
        }
    }

    /// The coordinator whose first checkpoint has a number above `id`.
    pub fn numbered_after(self, id: BarrierId) -> Self {
        self.requested.send_if_modified(|requested| {
            *requested = id.max(*requested);
            false
        });
        self
    }

    /// The coordinator of a query in which an operator whose state has another schema starts without
    /// it, where it would otherwise be an error.
    pub fn dropping_unmatched(self) -> Self {
        CheckpointCoordinator { drops_unmatched: true, ..self }
    }

    /// The coordinator of a query whose plan is not that of the checkpoint: nodes without state may
    /// then stand elsewhere than those of the same name did, and forget their watermarks.
    pub fn for_changed_plan(self) -> Self {
        CheckpointCoordinator { plan_changed: true, ..self }
    }

    /// The coordinator of a query whose input had ended at the checkpoint: sources read nothing more.
    pub fn at_the_end_of_input(self) -> Self {
        CheckpointCoordinator { input_has_ended: true, ..self }
    }

    /// Starts a checkpoint: every source emits a barrier of the number returned as soon as it can.
    /// `None` while another is under way.
    pub fn trigger(&self) -> Option<BarrierId> {
        let mut taken = self.taken.lock();
        if taken.under_way.is_some() {
            return None;
        }
        let mut id = 0;
        self.requested.send_modify(|requested| {
            *requested += 1;
            id = *requested;
        });
        taken.under_way = Some(id);
        Some(id)
    }

    /// Starts a checkpoint behind which the sources emit nothing more.
    pub fn trigger_last(&self) -> Option<BarrierId> {
        // ahead of the request, which wakes the sources
        let next = *self.requested.borrow() + 1;
        self.last_barrier.store(next, Ordering::SeqCst);
        let triggered = self.trigger();
        if triggered != Some(next) {
            self.last_barrier.store(BarrierId::MAX, Ordering::SeqCst);
        }
        triggered
    }

    /// Whether sources emit nothing behind a barrier.
    pub(super) fn is_last(&self, barrier: BarrierId) -> bool {
        barrier >= self.last_barrier.load(Ordering::SeqCst)
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
        taken.under_way.take_if(|under_way| *under_way <= id);
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

    /// The state at the end of a query whose input has ended, as a checkpoint of the next number.
    pub fn complete_at_end(&self) -> Checkpoint {
        let mut taken = self.taken.lock();
        taken.under_way = None;
        taken.acknowledged.clear();
        let mut id = 0;
        self.requested.send_modify(|requested| {
            *requested += 1;
            id = *requested;
        });
        Checkpoint { id, operators: taken.finished.clone() }
    }

    /// What this query starts from.
    pub(super) fn restored(&self) -> Option<Arc<Checkpoint>> {
        self.restored.lock().clone()
    }

    /// All operators have started: what they were restored from is needed no longer.
    pub fn forget_restored(&self) {
        *self.restored.lock() = None;
    }

    pub(super) fn drops_unmatched(&self) -> bool {
        self.drops_unmatched
    }

    pub(super) fn input_has_ended(&self) -> bool {
        self.input_has_ended
    }

    pub(super) fn plan_changed(&self) -> bool {
        self.plan_changed
    }
}

/// The checkpoints of one subtask of a node that runs without a [`Driver`](super::Driver), such as a
/// sink.
#[derive(Debug, Clone)]
pub struct SubtaskCheckpoints {
    pub(super) coordinator: Arc<CheckpointCoordinator>,
    pub(super) operator: OperatorId,
    pub(super) subtask: usize,
}

impl SubtaskCheckpoints {
    /// The subtask has passed a barrier in this state.
    pub fn acknowledge(&self, barrier: BarrierId, tables: Vec<TableSnapshot>) {
        let snapshot = SubtaskSnapshot::of_tables(tables);
        self.coordinator.acknowledge(barrier, &self.operator, self.subtask, snapshot);
    }

    /// The subtask has ended in this state.
    pub fn finish(&self, tables: Vec<TableSnapshot>) {
        self.coordinator.finish(&self.operator, self.subtask, SubtaskSnapshot::of_tables(tables));
    }

    /// The tables that the subtask of this number had at the checkpoint that the query starts from.
    pub fn restored(&self) -> Option<Vec<TableSnapshot>> {
        let restored = self.coordinator.restored()?;
        let subtask = restored.operators.get(&self.operator)?.get(&self.subtask)?;
        Some(subtask.tables.clone())
    }
}
