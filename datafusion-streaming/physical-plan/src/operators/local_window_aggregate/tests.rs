use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, TimestampMillisecondArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion_common::Result;
use datafusion_streaming_udfs::aggregate::Sum;

use super::{LocalWindowAggregateNode, SliceSource};
use crate::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use crate::operators::aggregate::AggregateCall;
use crate::operators::slice_aggregate::SliceAggregateNode;
use crate::operators::testing::{changes, drain, lines_of, watermark};
use crate::operators::window_aggregate::GroupColumn;
use crate::operators::window_tvf::WindowTvfNode;
use crate::runtime::{Driver, StreamElement, StreamNode};
use crate::time::{LocalZone, WindowAssigner};

fn timestamp() -> DataType {
    DataType::Timestamp(TimeUnit::Millisecond, None)
}

fn input() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("k", DataType::Int64, true),
        Field::new("v", DataType::Int64, true),
        Field::new("ts", timestamp(), false),
    ]))
}

fn windows() -> Result<WindowTvfNode> {
    let hop = WindowAssigner::Hop { slide: 1_000, size: 2_000, offset: 0 };
    WindowTvfNode::try_new(2, hop, LocalZone::UTC, &input())
}

fn sum() -> AggregateCall {
    AggregateCall {
        function: Arc::new(Sum),
        args: vec![1],
        filter: None,
        distinct: false,
        ignore_nulls: false,
        appends_only: false,
        return_type: DataType::Int64,
        display: "sum(v)".to_string(),
    }
}

fn local(retracting: bool) -> Result<LocalWindowAggregateNode> {
    LocalWindowAggregateNode::try_new(
        vec![0],
        SliceSource::Time(windows()?),
        vec![sum()],
        input(),
        retracting,
    )
}

fn global(local: &LocalWindowAggregateNode, mode: ChangelogMode) -> Result<SliceAggregateNode> {
    let group = vec![GroupColumn::Key(0), GroupColumn::WindowEnd];
    let schema = Arc::new(Schema::new(vec![
        Field::new("k", DataType::Int64, true),
        Field::new("window_end", timestamp(), false),
        Field::new("sum", DataType::Int64, true),
    ]));
    let node = SliceAggregateNode::new(windows()?, group, vec![sum()], input(), schema, mode);
    Ok(node.with_partials(local))
}

/// Rows of (key, value, time).
fn rows(kinds: &[RowKind], rows: &[(i64, i64, i64)]) -> Result<StreamElement> {
    let column = |f: fn(&(i64, i64, i64)) -> i64| rows.iter().map(f).collect::<Vec<_>>();
    let times: ArrayRef = Arc::new(TimestampMillisecondArray::from(column(|row| row.2)));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(column(|row| row.0))),
        Arc::new(Int64Array::from(column(|row| row.1))),
        times,
    ];
    let kinds = kinds.iter().copied().cycle().take(rows.len()).collect();
    Ok(changes(ChangelogBatch::try_new(RecordBatch::try_new(input(), columns)?, kinds)?))
}

const APPEND: &[RowKind] = &[RowKind::Insert];
const EPOCH: &str = "1970-01-01T00:00:0";

#[test]
fn a_slice_leaves_in_front_of_the_watermark_that_passes_it() -> Result<()> {
    let mut driver = Driver::detached(Box::new(local(false)?.operator()?), 1, 100)?;
    driver.input(0, rows(APPEND, &[(1, 10, 100), (2, 5, 100), (1, 3, 1_200), (1, 7, 999)])?, 0)?;
    driver.input(0, watermark(998), 0)?;
    driver.input(0, watermark(999), 0)?;
    // a late row joins what it may count for in later windows
    driver.input(0, rows(APPEND, &[(2, 1, 200)])?, 0)?;
    driver.end(0, 0)?;
    let mut lines = vec![];
    drain(&mut driver, &mut lines)?;
    let expected = [
        "watermark 998".to_string(),
        format!("+I 1 {EPOCH}1 2 17"),
        format!("+I 2 {EPOCH}1 1 5"),
        "watermark 999".to_string(),
        format!("+I 2 {EPOCH}1 1 1"),
        format!("+I 1 {EPOCH}2 1 3"),
        "watermark MAX".to_string(),
    ];
    assert_eq!(lines, expected);
    Ok(())
}

#[test]
fn a_barrier_leaves_nothing_to_save() -> Result<()> {
    let mut driver = Driver::detached(Box::new(local(false)?.operator()?), 1, 100)?;
    driver.input(0, rows(APPEND, &[(1, 10, 100), (1, 2, 1_100)])?, 0)?;
    driver.input(0, StreamElement::Barrier(1), 0)?;
    let mut lines = vec![];
    drain(&mut driver, &mut lines)?;
    assert_eq!(lines, [format!("+I 1 {EPOCH}1 1 10"), format!("+I 1 {EPOCH}2 1 2"), "barrier 1".to_string()]);
    assert_eq!(driver.snapshot()?.tables[0].rows.num_rows(), 0);
    Ok(())
}

#[test]
fn both_phases_give_what_one_does_and_count_the_same_rows_as_late() -> Result<()> {
    let local = local(true)?;
    let mut first = Driver::detached(Box::new(local.operator()?), 1, 100)?;
    let mut second = Driver::detached(Box::new(global(&local, ChangelogMode::ALL)?.operator()?), 1, 100)?;
    let elements = [
        rows(&[RowKind::Insert, RowKind::Delete], &[(1, 10, 100), (1, 10, 100), (1, 4, 300), (2, 9, 50)])?,
        watermark(1_999),
        // the windows of the first two are over; the third counts for the second of its windows
        rows(APPEND, &[(1, 1, 100), (1, 2, 200), (1, 8, 1_500)])?,
        watermark(5_000),
    ];
    let mut lines = vec![];
    for element in elements {
        first.input(0, element, 0)?;
        while let Some(element) = first.pop() {
            second.input(0, element, 0)?;
        }
    }
    drain(&mut second, &mut lines)?;
    let expected = [
        format!("+I 1 {EPOCH}1 4"),
        format!("+I 2 {EPOCH}1 -9"),
        format!("+I 1 {EPOCH}2 4"),
        format!("+I 2 {EPOCH}2 -9"),
        "watermark 1999".to_string(),
        format!("+I 1 {EPOCH}3 8"),
        "watermark 5000".to_string(),
    ];
    assert_eq!(lines, expected);
    assert_eq!(second.metrics().late_rows.value(), 2);
    Ok(())
}

#[test]
fn the_output_is_as_the_node_says() -> Result<()> {
    let node = local(true)?;
    let names: Vec<_> = node.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names[..4], ["k", "$window_end", "$inputs", "$rows"]);
    let lines = lines_of(node.operator()?, [rows(&[RowKind::Delete], &[(1, 10, 100), (1, 5, 10)])?])?;
    assert!(lines[0].starts_with(&format!("+I 1 {EPOCH}1 2 -2 -15")), "{lines:?}");
    Ok(())
}
