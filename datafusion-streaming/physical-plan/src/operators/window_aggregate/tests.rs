use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, TimestampMillisecondArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion_common::Result;
use datafusion_streaming_udfs::aggregate::Sum;

use super::{GroupColumn, WindowAggregateNode};
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
        rowtime: true,
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
    let node = node(ChangelogMode::INSERT_ONLY).with_allowed_lateness(500);
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
    let node = WindowAggregateNode { proctime: true, ..node(ChangelogMode::INSERT_ONLY) };
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
