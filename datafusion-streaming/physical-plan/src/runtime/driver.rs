//! What every operator needs and none does itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::UInt16Type;
use datafusion_common::{Result, exec_err, internal_err};
use datafusion_execution::memory_pool::MemoryReservation;

use super::disk::DiskState;
use super::{
    BarrierId, CheckpointCoordinator, Context, Flush, Operator, OperatorId, OperatorMetrics, Output,
    StreamElement, SubtaskSnapshot, TableSnapshot, in_operator,
};
use crate::state::StateTable;
use crate::state::disk::Timeline;
use crate::state::key_group::groups_of;
use crate::time::{Merged, Watermark, WatermarkMerge};

/// Drives one partition of an operator, without any IO: elements are put in, elements come out.
///
/// - The watermark of several inputs is their minimum; idle inputs do not count.
/// - A barrier is aligned: an input that has sent it is blocked until all others have, too. Then
///   the operator is flushed, its tables are copied, and the barrier goes on.
/// - Output is cut at the batch size.
/// - An operator that is done ends before its inputs do.
/// - The memory of all tables is reserved after each call; over the limit is an error that names
///   the operator, unless its keys can be kept on disk.
pub struct Driver {
    operator: Box<dyn Operator>,
    parts: DriverParts,
    watermarks: WatermarkMerge,
    ports: Vec<Port>,
    output: Output,
    /// The processing time of the last call.
    now: Option<i64>,
}

/// What a driver is made of besides its operator.
pub(super) struct DriverParts {
    pub batch_size: usize,
    pub metrics: Arc<OperatorMetrics>,
    pub reservation: MemoryReservation,
    pub checkpoints: Option<Arc<CheckpointCoordinator>>,
    pub id: OperatorId,
    pub subtask: usize,
    pub subtasks: usize,
    /// Where keyed state goes that is too large for the memory.
    pub disk: Option<DiskState>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Port {
    barrier: Option<BarrierId>,
    ended: bool,
}

impl Driver {
    /// A driver for an operator with this many inputs, its state restored if there is anything to
    /// restore.
    pub(super) fn try_new(operator: Box<dyn Operator>, ports: usize, parts: DriverParts) -> Result<Self> {
        let mut driver = Driver {
            operator,
            watermarks: WatermarkMerge::new(ports),
            ports: vec![Port::default(); ports],
            output: Output::new(parts.batch_size),
            now: None,
            parts,
        };
        driver.restore()?;
        Ok(driver)
    }

    /// A driver outside any plan, for tests and benchmarks: unlimited memory, no checkpoints.
    pub fn detached(operator: Box<dyn Operator>, ports: usize, batch_size: usize) -> Result<Self> {
        use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool, UnboundedMemoryPool};
        let pool: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
        let parts = DriverParts {
            batch_size,
            metrics: Arc::new(OperatorMetrics::detached()),
            reservation: MemoryConsumer::new("detached").register(&pool),
            checkpoints: None,
            id: OperatorId { name: "detached".to_string(), number: 0 },
            subtask: 0,
            subtasks: 1,
            disk: None,
        };
        Driver::try_new(operator, ports, parts)
    }

    /// Whether an input must wait because it is ahead with a barrier.
    pub fn is_blocked(&self, port: usize) -> bool {
        self.ports[port].barrier.is_some()
    }

    /// The next element of the output.
    pub fn pop(&mut self) -> Option<StreamElement> {
        self.output.pop()
    }

    /// Whether all inputs have ended.
    pub fn is_finished(&self) -> bool {
        self.ports.iter().all(|port| port.ended)
    }

    /// Whether the operator needs no more input: then all inputs are to be ended.
    pub fn is_done(&self) -> bool {
        self.operator.is_done()
    }

    /// The processing time at which [`Driver::fire_timer`] is to be called.
    pub fn next_timer(&self) -> Option<i64> {
        let of_keys_on_disk = self.parts.disk.as_ref().and_then(DiskState::next_timer);
        self.operator.next_timer().into_iter().chain(of_keys_on_disk).min()
    }

    /// The operator's metrics.
    pub fn metrics(&self) -> &OperatorMetrics {
        &self.parts.metrics
    }

    /// The snapshots of the operator's tables, as a checkpoint takes them.
    pub fn snapshot(&mut self) -> Result<SubtaskSnapshot> {
        let (watermark, inputs) = (self.watermarks.current().0, self.watermarks.inputs());
        let mut stored = None;
        if self.parts.disk.as_ref().is_some_and(DiskState::is_used) {
            self.evict(self.now, true)?;
            stored = self.parts.disk.as_ref().and_then(DiskState::stored_rows);
        }
        let mut tables = vec![];
        for (number, table) in self.operator.tables().into_iter().enumerate() {
            let mut snapshot = table.snapshot()?;
            // those that stay in memory are on disk, too
            if stored.is_some() && self.parts.disk.as_ref().is_some_and(|disk| disk.is_keyed(number)) {
                snapshot.rows = snapshot.rows.slice(0, 0);
            }
            tables.push(snapshot);
        }
        Ok(SubtaskSnapshot { watermark, inputs, tables, stored })
    }

    /// An element of an input, at a processing time. Errors name the operator.
    pub fn input(&mut self, port: usize, element: StreamElement, now: i64) -> Result<()> {
        let result = self.take(port, element, now);
        self.named(result)
    }

    /// An input has ended.
    pub fn end(&mut self, port: usize, now: i64) -> Result<()> {
        let result = self.end_port(port, now);
        self.named(result)
    }

    /// Calls the operator's timer if it is due.
    pub fn fire_timer(&mut self, now: i64) -> Result<()> {
        let metrics = Arc::clone(&self.parts.metrics);
        let _timer = metrics.baseline.elapsed_compute().timer();
        let result = self.fire_due_timer(now);
        self.named(result)
    }

    fn named<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| in_operator(error, &self.parts.id, self.parts.subtask))
    }

    fn take(&mut self, port: usize, element: StreamElement, now: i64) -> Result<()> {
        let metrics = Arc::clone(&self.parts.metrics);
        let _timer = metrics.baseline.elapsed_compute().timer();
        self.fire_due_timer(now)?;
        match element {
            StreamElement::Data(changes) => {
                self.watermarks.set_active(port);
                metrics.input_rows.add(changes.num_rows());
                if let Some(disk) = &mut self.parts.disk {
                    disk.load(port, changes.batch(), now, self.operator.as_mut(), &metrics)?;
                }
                let mut cx = self.context(now, &metrics);
                self.operator.process(port, &changes, &mut cx, &mut self.output)?;
                self.balance(now)
            }
            StreamElement::Watermark(watermark) => {
                let before = self.watermarks.current();
                match self.watermarks.update(port, watermark) {
                    Merged::Advanced(watermark) => self.advance(before, watermark, now),
                    Merged::Unchanged | Merged::Idle => Ok(()),
                }
            }
            StreamElement::Idle => {
                let before = self.watermarks.current();
                match self.watermarks.set_idle(port) {
                    Merged::Advanced(watermark) => self.advance(before, watermark, now),
                    Merged::Idle => {
                        self.output.idle();
                        Ok(())
                    }
                    Merged::Unchanged => Ok(()),
                }
            }
            StreamElement::Barrier(barrier) => {
                self.ports[port].barrier = Some(barrier);
                self.align(now)
            }
        }
    }

    fn end_port(&mut self, port: usize, now: i64) -> Result<()> {
        self.now = Some(now);
        self.ports[port].ended = true;
        let before = self.watermarks.current();
        if let Merged::Advanced(watermark) = self.watermarks.update(port, Watermark::MAX) {
            self.advance(before, watermark, now)?;
        }
        self.align(now)?;
        if !self.is_finished() {
            return Ok(());
        }
        // what waits for the clock goes out at the end
        let metrics = Arc::clone(&self.parts.metrics);
        while let Some(disk) = &mut self.parts.disk
            && disk.load_due(Timeline::ProcessingTime, i64::MAX, now, self.operator.as_mut(), &metrics)?
        {
            self.flush(Flush::End, now)?;
            self.balance(now)?;
        }
        self.flush(Flush::End, now)?;
        if let Some(checkpoints) = self.parts.checkpoints.clone() {
            let snapshot = self.snapshot()?;
            checkpoints.finish(&self.parts.id, self.parts.subtask, snapshot);
        }
        Ok(())
    }

    fn fire_due_timer(&mut self, now: i64) -> Result<()> {
        self.now = Some(now);
        if self.parts.disk.is_some() {
            self.fire_on_disk(now)?;
        }
        self.fire_operator(now)
    }

    /// Lets the keys on disk whose timers are due see the time, in portions.
    fn fire_on_disk(&mut self, now: i64) -> Result<()> {
        let metrics = Arc::clone(&self.parts.metrics);
        while let Some(disk) =
            self.parts.disk.as_mut().filter(|disk| disk.next_timer().is_some_and(|timer| timer <= now))
            && disk.load_due(Timeline::ProcessingTime, now, now, self.operator.as_mut(), &metrics)?
        {
            self.fire_operator(now)?;
            self.balance(now)?;
        }
        Ok(())
    }

    fn fire_operator(&mut self, now: i64) -> Result<()> {
        while self.operator.next_timer().is_some_and(|timer| timer <= now) {
            let metrics = Arc::clone(&self.parts.metrics);
            let before = self.operator.next_timer();
            let mut cx = self.context(now, &metrics);
            self.operator.on_timer(&mut cx, &mut self.output)?;
            self.balance(now)?;
            if self.operator.next_timer() == before {
                return internal_err!("{} did not move its timer on", self.parts.id);
            }
        }
        Ok(())
    }

    fn advance(&mut self, before: Watermark, watermark: Watermark, now: i64) -> Result<()> {
        let metrics = Arc::clone(&self.parts.metrics);
        metrics.set_watermark(watermark);
        while let Some(disk) = &mut self.parts.disk
            && disk.load_due(Timeline::Watermark, watermark.0, now, self.operator.as_mut(), &metrics)?
        {
            self.output.hold();
            let mut cx = Context { watermark: before, ..self.context(now, &metrics) };
            self.operator.on_watermark(watermark, &mut cx, &mut self.output)?;
            // what stayed would be told of the same watermark again
            self.let_go(now, false)?;
        }
        let mut cx = Context { watermark: before, ..self.context(now, &metrics) };
        self.operator.on_watermark(watermark, &mut cx, &mut self.output)?;
        self.output.release();
        self.balance(now)
    }

    fn flush(&mut self, why: Flush, now: i64) -> Result<()> {
        let metrics = Arc::clone(&self.parts.metrics);
        let mut cx = self.context(now, &metrics);
        self.operator.flush(why, &mut cx, &mut self.output)?;
        match self.account() {
            // nothing is held back any more
            Err(_) if self.parts.disk.is_some() => self.evict(Some(now), true),
            done => done,
        }
    }

    /// Takes the snapshot and passes the barrier on, once all inputs have sent it.
    fn align(&mut self, now: i64) -> Result<()> {
        let Some(barrier) = self.ports.iter().filter_map(|port| port.barrier).max() else { return Ok(()) };
        if !self.ports.iter().all(|port| port.ended || port.barrier.is_some()) {
            return Ok(());
        }
        self.flush(Flush::Barrier, now)?;
        if let Some(checkpoints) = self.parts.checkpoints.clone() {
            let snapshot = self.snapshot()?;
            checkpoints.acknowledge(barrier, &self.parts.id, self.parts.subtask, snapshot);
        }
        self.output.barrier(barrier);
        for port in &mut self.ports {
            port.barrier = None;
        }
        Ok(())
    }

    fn context<'a>(&self, now: i64, metrics: &'a OperatorMetrics) -> Context<'a> {
        Context { processing_time: now, watermark: self.watermarks.current(), metrics }
    }

    /// Reserves the memory of the operator's tables.
    fn account(&mut self) -> Result<()> {
        let bytes = self.table_bytes() + self.parts.disk.as_ref().map_or(0, DiskState::memory_size);
        self.parts.metrics.state_bytes.set(bytes);
        self.parts.reservation.try_resize(bytes)
    }

    fn table_bytes(&mut self) -> usize {
        self.operator.tables().into_iter().map(|table| table.memory_size()).sum()
    }

    /// Reserves the memory of the operator's tables; where that is too much, its keys go to disk.
    fn balance(&mut self, now: i64) -> Result<()> {
        if self.parts.disk.is_none() {
            return self.account();
        }
        let bytes = self.table_bytes();
        let is_over = self.parts.disk.as_ref().is_some_and(|disk| disk.is_over(bytes));
        if !is_over && self.account().is_ok() {
            return Ok(());
        }
        self.let_go(now, true)
    }

    /// Writes the operator's keys to disk; those that several batches have met may stay in memory, too.
    fn let_go(&mut self, now: i64, keeps_hot: bool) -> Result<()> {
        // what is held back for efficiency is in no table
        let metrics = Arc::clone(&self.parts.metrics);
        let mut cx = self.context(now, &metrics);
        self.operator.flush(Flush::Barrier, &mut cx, &mut self.output)?;
        self.evict(Some(now), keeps_hot)
    }

    fn evict(&mut self, now: Option<i64>, keeps_hot: bool) -> Result<()> {
        let bytes = self.table_bytes();
        let watermark = self.watermarks.current().0;
        let Some(disk) = &mut self.parts.disk else { return self.account() };
        // for a while there is a copy
        self.parts.reservation.resize(2 * bytes + disk.memory_size());
        disk.evict(&mut self.operator, now, watermark, keeps_hot, &self.parts.metrics)?;
        self.account()
    }

    fn restore(&mut self) -> Result<()> {
        let Some(checkpoints) = self.parts.checkpoints.clone() else { return Ok(()) };
        let Some(checkpoint) = checkpoints.restored() else { return Ok(()) };
        let Some(snapshots) = checkpoint.operators.get(&self.parts.id) else { return Ok(()) };
        let mut tables = self.operator.tables();
        if tables.is_empty() && checkpoints.plan_changed() {
            return Ok(());
        }
        if let Some(difference) = difference(&tables, snapshots)? {
            if checkpoints.drops_unmatched() {
                return Ok(());
            }
            return exec_err!(
                "the state of {} in the checkpoint does not fit the query: {difference}; restore into a query \
                 that keeps the same state, or have the state dropped with \
                 'execution.state-recovery.ignore-unclaimed-state' = 'true'",
                self.parts.id
            );
        }
        for table in &mut tables {
            restore_table(*table, snapshots, self.parts.subtask, self.parts.subtasks)?;
        }
        drop(tables);
        let same = snapshots.get(&self.parts.subtask).filter(|_| snapshots.len() == self.parts.subtasks);
        let merged = match same {
            Some(snapshot) => snapshot.watermark,
            None => snapshots.values().map(|snapshot| snapshot.watermark).min().unwrap_or(i64::MIN),
        };
        let inputs = same.map_or(&[][..], |snapshot| &snapshot.inputs);
        self.watermarks = WatermarkMerge::restored(self.ports.len(), inputs, Watermark(merged));
        self.restore_stored(snapshots)?;
        self.account()
    }

    /// Restores the rows that were not in memory, key group by key group.
    fn restore_stored(&mut self, snapshots: &BTreeMap<usize, SubtaskSnapshot>) -> Result<()> {
        let owned = groups_of(self.parts.subtask, self.parts.subtasks);
        let stored: Vec<_> = snapshots.values().filter_map(|snapshot| snapshot.stored.as_ref()).collect();
        for group in owned {
            for stored in &stored {
                for saved in stored.read(group..group + 1)? {
                    let rows = rows_of_groups(&saved, self.parts.subtask, self.parts.subtasks)?;
                    let mut tables = self.operator.tables();
                    let table = tables.iter_mut().find(|table| table.name() == saved.name);
                    let Some(table) = table else {
                        return internal_err!("the query has no table {}", saved.name);
                    };
                    table.restore(&rows)?;
                }
            }
            let bytes = self.table_bytes();
            if self.parts.disk.as_ref().is_some_and(|disk| disk.is_over(bytes)) {
                // what has expired by now is not known here
                self.evict(None, true)?;
            }
        }
        Ok(())
    }
}

/// How the saved tables of an operator differ from those that it has, in names, kinds or types;
/// `None` if they are the same.
fn difference(
    tables: &[&mut dyn StateTable],
    snapshots: &BTreeMap<usize, SubtaskSnapshot>,
) -> Result<Option<String>> {
    let Some(saved) = snapshots.values().next() else { return Ok(None) };
    for known in &saved.tables {
        if !tables.iter().any(|table| table.name() == known.name) {
            return Ok(Some(format!("it has a table '{}', the query has none", known.name)));
        }
    }
    for table in tables {
        let Some(known) = saved.tables.iter().find(|known| known.name == table.name()) else {
            return Ok(Some(format!("it has no table '{}'", table.name())));
        };
        let empty = table.snapshot()?;
        let types = |rows: &RecordBatch| {
            let fields = rows.schema();
            let fields = fields.fields().iter();
            fields.map(|field| format!("{} {}", field.name(), field.data_type())).collect::<Vec<_>>()
        };
        let (saved, wanted) = (types(&known.rows), types(&empty.rows));
        if known.keyed != empty.keyed || saved != wanted {
            return Ok(Some(format!(
                "its table '{}' has the columns ({}), that of the query ({})",
                known.name,
                saved.join(", "),
                wanted.join(", ")
            )));
        }
    }
    Ok(None)
}

/// Gives a table its share of the snapshots of all subtasks: of a keyed table the rows of its key
/// groups, of another what the subtask of the same number had.
fn restore_table(
    table: &mut dyn StateTable,
    snapshots: &BTreeMap<usize, SubtaskSnapshot>,
    subtask: usize,
    subtasks: usize,
) -> Result<()> {
    for (owner, snapshot) in snapshots {
        let Some(saved) = snapshot.tables.iter().find(|saved| saved.name == table.name()) else {
            return internal_err!("the checkpoint has no table {}", table.name());
        };
        if saved.keyed {
            let rows = rows_of_groups(saved, subtask, subtasks)?;
            table.restore(&rows)?;
        } else if *owner == subtask {
            table.restore(&saved.rows)?;
        }
    }
    Ok(())
}

fn rows_of_groups(saved: &TableSnapshot, subtask: usize, subtasks: usize) -> Result<RecordBatch> {
    let Some(groups) =
        saved.rows.columns().first().and_then(|column| column.as_primitive_opt::<UInt16Type>())
    else {
        return internal_err!("the snapshot of {} has no key groups", saved.name);
    };
    let owned = groups_of(subtask, subtasks);
    let mask: BooleanArray = groups.values().iter().map(|group| Some(owned.contains(group))).collect();
    let rows = if mask.true_count() == mask.len() {
        saved.rows.clone()
    } else {
        filter_record_batch(&saved.rows, &mask)?
    };
    let columns: Vec<_> = (1..rows.num_columns()).collect();
    Ok(rows.project(&columns)?)
}
