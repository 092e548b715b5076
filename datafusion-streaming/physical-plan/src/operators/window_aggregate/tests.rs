use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, TimestampMillisecondArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion_common::Result;
use datafusion_streaming_udfs::aggregate::Sum;

use super::{EmitStrategy, GroupColumn, WindowAggregateNode};
use crate::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use crate::operators::aggregate::AggregateCall;
use crate::operators::testing::{changes, drain, lines_of, watermark};
use crate::runtime::{Driver, Operator, StreamElement, WindowProperties};
use crate::time::{LocalZone, WindowAssigner};

fn timestamp() -> DataType {
    DataType::Timestamp(TimeUnit::Millisecond, None)
}

fn input() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("k", DataType::Int64, true),
        Field::new("v", DataType::Int64, true),
        Field::new("window_end", timestamp(), false),
    ]))
}

/// `SELECT k, window_start, window_end, SUM(v) … GROUP BY k, window_start, window_end` of windows of
/// a second.
fn node(mode: ChangelogMode) -> WindowAggregateNode {
    node_over(mode, true)
}

fn node_over(mode: ChangelogMode, rowtime: bool) -> WindowAggregateNode {
    let sum = AggregateCall {
        function: Arc::new(Sum),
        args: vec![1],
        filter: None,
        distinct: false,
        ignore_nulls: false,
        appends_only: false,
        return_type: DataType::Int64,
        display: "sum(v)".to_string(),
    };
    let window = WindowProperties {
        start: vec![],
        end: vec![2],
        time: vec![],
        assigner: WindowAssigner::Tumble { size: 1_000, offset: 0 },
        rowtime,
        local_time: false,
    };
    let group = vec![GroupColumn::Key(0), GroupColumn::WindowStart, GroupColumn::WindowEnd];
    let schema = Arc::new(Schema::new(vec![
        Field::new("k", DataType::Int64, true),
        Field::new("window_start", timestamp(), false),
        Field::new("window_end", timestamp(), false),
        Field::new("sum", DataType::Int64, true),
    ]));
    WindowAggregateNode::new(group, &window, 2, LocalZone::UTC, vec![sum], input(), schema, mode)
}

/// Rows of (key, value, window end).
fn rows(kinds: RowKind, rows: &[(i64, i64, i64)]) -> Result<StreamElement> {
    let column = |f: fn(&(i64, i64, i64)) -> i64| rows.iter().map(f).collect::<Vec<_>>();
    let ends: ArrayRef = Arc::new(TimestampMillisecondArray::from(column(|row| row.2)));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(column(|row| row.0))),
        Arc::new(Int64Array::from(column(|row| row.1))),
        ends,
    ];
    let batch = RecordBatch::try_new(input(), columns)?;
    let kinds = std::iter::repeat_n(kinds, rows.len()).collect();
    Ok(changes(ChangelogBatch::try_new(batch, kinds)?))
}

fn append(values: &[(i64, i64, i64)]) -> Result<StreamElement> {
    rows(RowKind::Insert, values)
}

const EPOCH: &str = "1970-01-01T00:00:";

#[test]
fn windows_fire_in_order_and_late_rows_are_dropped_and_counted() -> Result<()> {
    let mut driver = Driver::detached(Box::new(node(ChangelogMode::INSERT_ONLY).operator()?), 1, 100)?;
    let mut lines = vec![];
    driver.input(0, append(&[(1, 10, 2_000), (2, 5, 1_000), (1, 3, 1_000)])?, 0)?;
    driver.input(0, watermark(998), 0)?;
    driver.input(0, watermark(999), 0)?;
    driver.input(0, append(&[(2, 7, 1_000), (1, 1, 2_000)])?, 0)?;
    driver.end(0, 0)?;
    drain(&mut driver, &mut lines)?;
    let expected = [
        "watermark 998".to_string(),
        format!("+I 2 {EPOCH}00 {EPOCH}01 5"),
        format!("+I 1 {EPOCH}00 {EPOCH}01 3"),
        "watermark 999".to_string(),
        format!("+I 1 {EPOCH}01 {EPOCH}02 11"),
        "watermark MAX".to_string(),
    ];
    assert_eq!(lines, expected);
    assert_eq!(driver.metrics().late_rows.value(), 1);
    assert_eq!(driver.snapshot()?.tables[0].rows.num_rows(), 0, "fired windows leave nothing behind");
    Ok(())
}

#[test]
fn a_window_whose_rows_are_all_taken_back_is_not_emitted() -> Result<()> {
    let input = [
        append(&[(1, 10, 1_000), (2, 5, 1_000)])?,
        rows(RowKind::Delete, &[(1, 10, 1_000)])?,
        watermark(999),
        append(&[(1, 4, 2_000)])?,
    ];
    let lines = lines_of(node(ChangelogMode::ALL).operator()?, input)?;
    let expected = [
        format!("+I 2 {EPOCH}00 {EPOCH}01 5"),
        "watermark 999".to_string(),
        format!("+I 1 {EPOCH}01 {EPOCH}02 4"),
    ];
    assert_eq!(lines, expected);
    Ok(())
}

#[test]
fn open_windows_survive_a_restore() -> Result<()> {
    let node = node(ChangelogMode::INSERT_ONLY);
    let mut first = Driver::detached(Box::new(node.operator()?), 1, 100)?;
    first.input(0, append(&[(1, 10, 2_000), (2, 5, 1_000)])?, 0)?;
    let saved = first.snapshot()?.tables.remove(0).rows;

    let mut operator = node.operator()?;
    let columns: Vec<usize> = (1..saved.num_columns()).collect();
    operator.tables()[0].restore(&saved.project(&columns)?)?;
    let lines = lines_of(operator, [append(&[(2, 1, 1_000)])?])?;
    assert_eq!(lines, [format!("+I 2 {EPOCH}00 {EPOCH}01 6"), format!("+I 1 {EPOCH}01 {EPOCH}02 10")]);
    Ok(())
}

#[test]
fn late_rows_within_the_allowed_lateness_update_what_was_emitted() -> Result<()> {
    let node =
        node(ChangelogMode::INSERT_ONLY).with_emit(EmitStrategy { lateness: 500, ..EmitStrategy::AT_END });
    let mut driver = Driver::detached(Box::new(node.operator()?), 1, 100)?;
    let mut lines = vec![];
    driver.input(0, append(&[(1, 10, 1_000)])?, 0)?;
    driver.input(0, watermark(1_200), 0)?;
    driver.input(0, append(&[(1, 5, 1_000), (2, 7, 1_000), (1, 1, 2_000)])?, 0)?;
    driver.input(0, watermark(1_499), 0)?;
    driver.input(0, append(&[(1, 100, 1_000)])?, 0)?;
    driver.end(0, 0)?;
    drain(&mut driver, &mut lines)?;
    let expected = [
        format!("+I 1 {EPOCH}00 {EPOCH}01 10"),
        "watermark 1200".to_string(),
        format!("-U 1 {EPOCH}00 {EPOCH}01 10"),
        format!("+U 1 {EPOCH}00 {EPOCH}01 15"),
        format!("+I 2 {EPOCH}00 {EPOCH}01 7"),
        "watermark 1499".to_string(),
        format!("+I 1 {EPOCH}01 {EPOCH}02 1"),
        "watermark MAX".to_string(),
    ];
    assert_eq!(lines, expected);
    assert_eq!(driver.metrics().late_rows.value(), 1);
    Ok(())
}

#[test]
fn windows_over_processing_time_fire_by_the_clock() -> Result<()> {
    let node = node_over(ChangelogMode::INSERT_ONLY, false);
    let mut driver = Driver::detached(Box::new(node.operator()?), 1, 100)?;
    let mut lines = vec![];
    driver.input(0, append(&[(1, 10, 1_000)])?, 200)?;
    driver.input(0, watermark(5_000), 300)?;
    assert_eq!(driver.next_timer(), Some(1_000));
    driver.fire_timer(999)?;
    driver.input(0, append(&[(1, 4, 1_000)])?, 999)?;
    driver.fire_timer(1_000)?;
    drain(&mut driver, &mut lines)?;
    assert_eq!(lines, ["watermark 5000".to_string(), format!("+I 1 {EPOCH}00 {EPOCH}01 14")]);
    assert_eq!(driver.next_timer(), None);
    Ok(())
}

/// A driver of windows that emit by `strategy`.
fn emitting(mode: ChangelogMode, emit: EmitStrategy) -> Result<Driver> {
    Driver::detached(Box::new(node(mode).with_emit(emit).operator()?), 1, 100)
}

fn lines(driver: &mut Driver) -> Result<Vec<String>> {
    let mut lines = vec![];
    drain(driver, &mut lines)?;
    lines.retain(|line| !line.starts_with("watermark"));
    Ok(lines.into_iter().map(|line| line.replace("1970-01-01T00:00:", "")).collect())
}

#[test]
fn early_with_each_row_emits_each_change_once() -> Result<()> {
    let mut driver = emitting(ChangelogMode::ALL, EmitStrategy { early: Some(0), ..EmitStrategy::AT_END })?;
    driver.input(0, append(&[(1, 10, 1_000), (1, 5, 1_000), (1, 0, 1_000), (2, 1, 2_000)])?, 0)?;
    assert_eq!(
        lines(&mut driver)?,
        ["+I 1 00 01 10", "-U 1 00 01 10", "+U 1 00 01 15", "+I 2 01 02 1"],
        "a row that changes nothing emits nothing"
    );
    driver.input(0, rows(RowKind::Delete, &[(2, 1, 2_000)])?, 0)?;
    assert_eq!(lines(&mut driver)?, ["-D 2 01 02 1"]);
    driver.input(0, append(&[(2, 3, 2_000)])?, 0)?;
    assert_eq!(lines(&mut driver)?, ["+I 2 01 02 3"]);
    driver.input(0, watermark(999), 0)?;
    driver.input(0, append(&[(1, 7, 1_000)])?, 0)?;
    driver.end(0, 0)?;
    assert_eq!(lines(&mut driver)?, [""; 0], "all has been emitted, and a late row is dropped");
    assert_eq!(driver.metrics().late_rows.value(), 1);
    assert_eq!(driver.snapshot()?.tables[0].rows.num_rows(), 0);
    Ok(())
}

#[test]
fn early_with_a_delay_emits_at_its_multiples_from_the_first_row_on() -> Result<()> {
    let emit = EmitStrategy { early: Some(100), ..EmitStrategy::AT_END };
    let mut driver = emitting(ChangelogMode::INSERT_ONLY, emit)?;
    driver.input(0, append(&[(1, 10, 1_000)])?, 30)?;
    assert_eq!(driver.next_timer(), Some(130));
    driver.input(0, append(&[(1, 5, 1_000), (2, 1, 1_000)])?, 60)?;
    driver.fire_timer(129)?;
    assert_eq!(lines(&mut driver)?, [""; 0]);
    driver.fire_timer(130)?;
    assert_eq!(lines(&mut driver)?, ["+I 1 00 01 15"]);
    assert_eq!(driver.next_timer(), Some(160));
    driver.fire_timer(165)?;
    assert_eq!(lines(&mut driver)?, ["+I 2 00 01 1"]);
    assert_eq!(driver.next_timer(), None, "nothing has changed");
    driver.input(0, append(&[(1, 1, 1_000)])?, 260)?;
    assert_eq!(driver.next_timer(), Some(330), "as if it had fired at 230");
    driver.input(0, append(&[(1, -1, 1_000)])?, 270)?;
    driver.fire_timer(330)?;
    assert_eq!(lines(&mut driver)?, [""; 0], "what it comes to is what is out");
    driver.input(0, append(&[(1, 2, 1_000)])?, 340)?;
    driver.input(0, watermark(999), 350)?;
    assert_eq!(lines(&mut driver)?, ["-U 1 00 01 15", "+U 1 00 01 17"], "the end does not wait");
    driver.fire_timer(430)?;
    assert_eq!(lines(&mut driver)?, [""; 0]);
    Ok(())
}

#[test]
fn late_with_a_delay_loses_what_waits_when_the_window_goes() -> Result<()> {
    let emit = EmitStrategy { late: 100, lateness: 500, ..EmitStrategy::AT_END };
    let mut driver = emitting(ChangelogMode::INSERT_ONLY, emit)?;
    driver.input(0, append(&[(1, 10, 1_000)])?, 0)?;
    driver.input(0, watermark(999), 5)?;
    assert_eq!(lines(&mut driver)?, ["+I 1 00 01 10"]);
    // of key 2 the window gets its first row late: it emits with each
    driver.input(0, append(&[(1, 5, 1_000), (2, 7, 1_000), (2, 1, 1_000)])?, 10)?;
    assert_eq!(lines(&mut driver)?, ["+I 2 00 01 7", "-U 2 00 01 7", "+U 2 00 01 8"]);
    assert_eq!(driver.next_timer(), Some(110));
    driver.fire_timer(110)?;
    assert_eq!(lines(&mut driver)?, ["-U 1 00 01 10", "+U 1 00 01 15"]);
    driver.input(0, append(&[(1, 1, 1_000), (1, 2, 1_000)])?, 120)?;
    driver.input(0, watermark(1_499), 130)?;
    driver.fire_timer(210)?;
    assert_eq!(lines(&mut driver)?, [""; 0], "as in Flink");
    assert_eq!(driver.metrics().late_rows.value(), 2);
    assert_eq!(driver.snapshot()?.tables[0].rows.num_rows(), 0);
    Ok(())
}

#[test]
fn equal_delays_go_on_over_the_end_of_the_window() -> Result<()> {
    let emit = EmitStrategy { early: Some(100), late: 100, lateness: 500 };
    let mut driver = emitting(ChangelogMode::INSERT_ONLY, emit)?;
    driver.input(0, append(&[(1, 10, 1_000)])?, 30)?;
    driver.input(0, watermark(999), 50)?;
    driver.input(0, append(&[(1, 5, 1_000)])?, 60)?;
    assert_eq!(driver.next_timer(), Some(130));
    let emit = EmitStrategy { early: Some(70), ..emit };
    let mut driver = emitting(ChangelogMode::INSERT_ONLY, emit)?;
    driver.input(0, append(&[(1, 10, 1_000)])?, 30)?;
    driver.input(0, watermark(999), 50)?;
    driver.input(0, append(&[(1, 5, 1_000)])?, 60)?;
    driver.fire_timer(100)?;
    assert_eq!(driver.next_timer(), Some(160), "another delay starts with the first late row");
    Ok(())
}

#[test]
fn windows_over_processing_time_emit_early_and_at_their_ends() -> Result<()> {
    let emit = EmitStrategy { early: Some(300), ..EmitStrategy::AT_END };
    let node = node_over(ChangelogMode::INSERT_ONLY, false).with_emit(emit);
    let mut driver = Driver::detached(Box::new(node.operator()?), 1, 100)?;
    driver.input(0, append(&[(1, 10, 1_000)])?, 200)?;
    driver.input(0, watermark(5_000), 210)?;
    assert_eq!(driver.next_timer(), Some(500));
    driver.fire_timer(500)?;
    assert_eq!(lines(&mut driver)?, ["+I 1 00 01 10"]);
    assert_eq!(driver.next_timer(), Some(1_000));
    driver.input(0, append(&[(1, 1, 1_000)])?, 600)?;
    driver.fire_timer(1_000)?;
    assert_eq!(lines(&mut driver)?, ["-U 1 00 01 10", "+U 1 00 01 11"]);
    assert_eq!(driver.next_timer(), None);
    Ok(())
}

#[test]
fn results_that_are_out_and_delays_survive_a_restore() -> Result<()> {
    let emit = EmitStrategy { early: Some(100), late: 50, lateness: 500 };
    let node = node(ChangelogMode::INSERT_ONLY).with_emit(emit);
    let mut first = Driver::detached(Box::new(node.operator()?), 1, 100)?;
    first.input(0, append(&[(1, 10, 1_000), (2, 1, 2_000), (3, 1, 2_000)])?, 30)?;
    first.fire_timer(130)?;
    first.input(0, append(&[(1, 5, 1_000), (2, 1, 2_000)])?, 140)?;
    first.input(0, watermark(999), 150)?;
    first.input(0, append(&[(1, 1, 1_000)])?, 160)?;
    let saved = first.snapshot()?.tables.remove(0).rows;

    let mut operator = node.operator()?;
    let columns: Vec<usize> = (1..saved.num_columns()).collect();
    operator.tables()[0].restore(&saved.project(&columns)?)?;
    let mut second = Driver::detached(operator, 1, 100)?;
    second.input(0, watermark(999), 160)?;
    assert_eq!(lines(&mut second)?, [""; 0], "the window does not fire again");
    assert_eq!(second.next_timer(), Some(210));
    second.fire_timer(210)?;
    assert_eq!(lines(&mut second)?, ["-U 1 00 01 15", "+U 1 00 01 16"]);
    second.fire_timer(230)?;
    assert_eq!(lines(&mut second)?, ["-U 2 01 02 1", "+U 2 01 02 2"]);
    second.end(0, 300)?;
    assert_eq!(lines(&mut second)?, [""; 0]);
    Ok(())
}
