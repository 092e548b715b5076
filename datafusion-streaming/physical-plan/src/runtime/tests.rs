use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};

use super::driver::DriverParts;
use super::{
    Checkpoint, CheckpointCoordinator, Context, Driver, Operator, OperatorId, OperatorMetrics, Output,
    StreamElement, SubtaskSnapshot, TableSnapshot,
};
use crate::changelog::ChangelogBatch;
use crate::operators::testing::{changes, drain, watermark};
use crate::state::{StateTable, ValueTable};

/// Passes rows on and counts them.
struct Counting {
    rows: ValueTable,
}

impl Operator for Counting {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        _cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<()> {
        self.rows.value += changes.num_rows() as i64;
        out.data(changes.clone());
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![&mut self.rows]
    }
}

fn counting() -> Box<Counting> {
    Box::new(Counting { rows: ValueTable::new("rows", 0) })
}

fn parts(checkpoints: Option<Arc<CheckpointCoordinator>>, pool: &Arc<dyn MemoryPool>) -> DriverParts {
    DriverParts {
        batch_size: 2,
        metrics: Arc::new(OperatorMetrics::detached()),
        reservation: MemoryConsumer::new("Counting[0]").register(pool),
        checkpoints,
        id: OperatorId { name: "Counting".to_string(), number: 3 },
        subtask: 0,
        subtasks: 1,
        disk: None,
    }
}

fn rows(values: &[i64]) -> Result<StreamElement> {
    let column: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
    Ok(changes(ChangelogBatch::insert_only(RecordBatch::try_from_iter([("v", column)])?)))
}

fn lines(driver: &mut Driver) -> Result<String> {
    let mut lines = vec![];
    drain(driver, &mut lines)?;
    Ok(lines.join(", "))
}

#[test]
fn a_barrier_waits_for_every_input_and_splits_the_rows() -> Result<()> {
    let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(1 << 20));
    let checkpoints = Arc::new(CheckpointCoordinator::new(None, None));
    let mut driver = Driver::try_new(counting(), 2, parts(Some(Arc::clone(&checkpoints)), &pool))?;
    driver.input(0, rows(&[1])?, 0)?;
    driver.input(0, StreamElement::Barrier(1), 0)?;
    assert!(driver.is_blocked(0) && !driver.is_blocked(1));
    driver.input(1, rows(&[2])?, 0)?;
    assert_eq!(lines(&mut driver)?, "+I 1, +I 2");
    driver.input(1, StreamElement::Barrier(1), 0)?;
    assert!(!driver.is_blocked(0) && !driver.is_blocked(1));
    driver.input(0, rows(&[3])?, 0)?;
    assert_eq!(lines(&mut driver)?, "barrier 1, +I 3");

    let checkpoint = checkpoints.complete(1).unwrap();
    let restored = Arc::new(CheckpointCoordinator::new(Some(checkpoint), None));
    let mut driver = Driver::try_new(counting(), 2, parts(Some(restored), &pool))?;
    let saved = driver.snapshot()?.tables.remove(0);
    let mut value = ValueTable::new("rows", 0);
    value.restore(&saved.rows)?;
    assert_eq!(value.value, 2, "the rows before the barrier");
    Ok(())
}

#[test]
fn an_input_that_has_ended_holds_up_neither_barriers_nor_watermarks() -> Result<()> {
    let mut driver = Driver::detached(counting(), 2, 10)?;
    driver.input(0, watermark(5), 0)?;
    driver.input(0, StreamElement::Barrier(7), 0)?;
    assert_eq!(lines(&mut driver)?, "");
    driver.end(1, 0)?;
    assert_eq!(lines(&mut driver)?, "watermark 5, barrier 7");
    driver.end(0, 0)?;
    assert!(driver.is_finished());
    Ok(())
}

#[test]
fn idle_inputs_are_not_waited_for() -> Result<()> {
    let mut driver = Driver::detached(counting(), 2, 10)?;
    driver.input(0, watermark(5), 0)?;
    driver.input(1, StreamElement::Idle, 0)?;
    driver.input(0, StreamElement::Idle, 0)?;
    assert_eq!(lines(&mut driver)?, "watermark 5, idle");
    driver.input(1, rows(&[1])?, 0)?;
    driver.input(1, watermark(9), 0)?;
    assert_eq!(lines(&mut driver)?, "+I 1, watermark 9");
    Ok(())
}

#[test]
fn output_is_cut_at_the_batch_size() -> Result<()> {
    let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(1 << 20));
    let mut driver = Driver::try_new(counting(), 1, parts(None, &pool))?;
    driver.input(0, rows(&[1, 2, 3])?, 0)?;
    let mut sizes = vec![];
    while let Some(StreamElement::Data(changes)) = driver.pop() {
        sizes.push(changes.num_rows());
    }
    assert_eq!(sizes, [2, 1]);
    Ok(())
}

/// Holds as many bytes as it has seen rows, times a thousand.
struct Hoard {
    bytes: usize,
}

impl Operator for Hoard {
    fn process(
        &mut self,
        _port: usize,
        changes: &ChangelogBatch,
        _cx: &mut Context<'_>,
        _out: &mut Output,
    ) -> Result<()> {
        self.bytes += changes.num_rows() * 1000;
        Ok(())
    }

    fn tables(&mut self) -> Vec<&mut dyn StateTable> {
        vec![self]
    }
}

impl StateTable for Hoard {
    fn name(&self) -> &str {
        "hoard"
    }

    fn memory_size(&self) -> usize {
        self.bytes
    }

    fn snapshot(&self) -> Result<TableSnapshot> {
        ValueTable::new("hoard", self.bytes as i64).snapshot()
    }

    fn restore(&mut self, _rows: &RecordBatch) -> Result<()> {
        Ok(())
    }
}

#[test]
fn too_much_state_is_an_error_that_names_the_operator() -> Result<()> {
    let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(2_500));
    let mut driver = Driver::try_new(Box::new(Hoard { bytes: 0 }), 1, parts(None, &pool))?;
    driver.input(0, rows(&[1, 2])?, 0)?;
    assert_eq!((pool.reserved(), driver.metrics().state_bytes.value()), (2_000, 2_000));
    let error = driver.input(0, rows(&[3])?, 0).unwrap_err();
    assert!(matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)), "{error}");
    assert!(error.to_string().contains("Counting[0]"), "{error}");
    Ok(())
}

#[test]
fn one_checkpoint_is_under_way_at_a_time() {
    let checkpoints = CheckpointCoordinator::new(None, None).numbered_after(4);
    assert_eq!((checkpoints.trigger(), checkpoints.trigger()), (Some(5), None));
    assert!(checkpoints.complete(5).is_none(), "nobody has passed it");
    assert_eq!(checkpoints.trigger_last(), Some(6));
    assert!(!checkpoints.is_last(5) && checkpoints.is_last(6));
}

#[test]
fn state_of_another_schema_is_refused_or_dropped() -> Result<()> {
    let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(1 << 20));
    let column: ArrayRef = Arc::new(arrow::array::StringArray::from(vec!["x"]));
    let rows = RecordBatch::try_from_iter([("value", column)])?;
    let table = TableSnapshot { name: "rows".to_string(), keyed: false, rows };
    let restored = |tables: Vec<TableSnapshot>| {
        let id = OperatorId { name: "Counting".to_string(), number: 3 };
        let subtasks = [(0, SubtaskSnapshot::of_tables(tables))].into();
        CheckpointCoordinator::new(Some(Checkpoint { id: 1, operators: [(id, subtasks)].into() }), None)
    };
    for (tables, words) in [
        (vec![table.clone()], "'rows' has the columns (value Utf8), that of the query (value Int64)"),
        (vec![], "no table 'rows'"),
        (vec![TableSnapshot { name: "other".to_string(), ..table.clone() }], "a table 'other'"),
    ] {
        let checkpoints = Arc::new(restored(tables));
        let error =
            Driver::try_new(counting(), 1, parts(Some(checkpoints), &pool)).err().unwrap().to_string();
        assert!(error.contains("Counting#3") && error.contains(words), "{error}");
    }
    let dropping = Arc::new(restored(vec![table]).dropping_unmatched());
    let mut driver = Driver::try_new(counting(), 1, parts(Some(dropping), &pool))?;
    assert_eq!(driver.snapshot()?.tables, vec![ValueTable::new("rows", 0).snapshot()?]);
    Ok(())
}

#[test]
fn errors_name_the_operator() -> Result<()> {
    let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(10));
    let mut driver = Driver::try_new(Box::new(Hoard { bytes: 0 }), 1, parts(None, &pool))?;
    let error = driver.input(0, rows(&[1])?, 0).unwrap_err().to_string();
    assert!(error.contains("operator Counting#3, partition 0"), "{error}");
    Ok(())
}
