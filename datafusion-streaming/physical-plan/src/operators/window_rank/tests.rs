use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, TimestampMillisecondArray};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion_common::Result;

use super::{WindowColumns, WindowRankNode};
use crate::changelog::ChangelogBatch;
use crate::operators::testing::{changes, drain, lines_of, watermark};
use crate::runtime::{Driver, StreamElement};
use crate::time::LocalZone;

fn fields() -> Vec<Field> {
    let timestamp = DataType::Timestamp(TimeUnit::Millisecond, None);
    vec![
        Field::new("k", DataType::Int64, true),
        Field::new("v", DataType::Int64, true),
        Field::new("window_start", timestamp.clone(), false),
        Field::new("window_end", timestamp, false),
    ]
}

fn input() -> SchemaRef {
    Arc::new(Schema::new(fields()))
}

/// The rows of `ranks` for each key, by value, the largest first.
fn node(ranks: (u64, u64), keep_last: bool) -> WindowRankNode {
    let mut output = fields();
    output.push(Field::new("rn", DataType::UInt64, false));
    let window = WindowColumns { start: 2, end: 3, zone: LocalZone::UTC };
    let order = vec![(1, SortOptions { descending: true, nulls_first: false })];
    WindowRankNode::new(window, vec![0], order, ranks, keep_last, input(), Arc::new(Schema::new(output)))
}

/// Rows of (key, value) in the window of the second that begins at `second`.
fn rows(second: i64, rows: &[(i64, i64)]) -> Result<StreamElement> {
    let starts: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![second * 1_000; rows.len()]));
    let ends: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![second * 1_000 + 1_000; rows.len()]));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1))),
        starts,
        ends,
    ];
    Ok(changes(ChangelogBatch::insert_only(RecordBatch::try_new(input(), columns)?)))
}

#[test]
fn windows_are_ranked_when_they_fire_and_late_rows_are_dropped() -> Result<()> {
    let mut driver = Driver::detached(Box::new(node((1, 2), false).operator()?), 1, 100)?;
    driver.input(0, rows(0, &[(1, 5), (2, 1), (1, 9), (1, 7)])?, 0)?;
    driver.input(0, watermark(999), 0)?;
    driver.input(0, rows(0, &[(1, 100)])?, 0)?;
    driver.end(0, 0)?;
    let mut lines = vec![];
    drain(&mut driver, &mut lines)?;
    let line = |key, value, rank| format!("+I {key} {value} 1970-01-01T00:00:00 1970-01-01T00:00:01 {rank}");
    assert_eq!(
        lines,
        [line(1, 9, 1), line(1, 7, 2), line(2, 1, 1), "watermark 999".into(), "watermark MAX".into()]
    );
    assert_eq!(driver.metrics().late_rows.value(), 1);
    assert_eq!(driver.metrics().state_bytes.value(), 0);
    Ok(())
}

#[test]
fn rows_that_cannot_be_among_the_first_are_not_kept() -> Result<()> {
    let mut driver = Driver::detached(Box::new(node((2, 3), false).operator()?), 1, 100)?;
    for batch in 0..100 {
        let values: Vec<_> = (0..100).map(|row| (row % 2, (batch * 100 + row) * 7919 % 10_007)).collect();
        driver.input(0, rows(0, &values)?, 0)?;
    }
    assert!(driver.snapshot()?.tables[0].rows.num_rows() < 1_200);
    driver.end(0, 0)?;
    let mut lines = vec![];
    drain(&mut driver, &mut lines)?;
    let mut expected = vec![];
    for key in 0..2 {
        let mut values: Vec<i64> =
            (0..10_000).filter(|row| row % 2 == key).map(|row| row * 7919 % 10_007).collect();
        values.sort_unstable_by(|a, b| b.cmp(a));
        for rank in [2, 3] {
            let value = values[rank - 1];
            expected.push(format!("+I {key} {value} 1970-01-01T00:00:00 1970-01-01T00:00:01 {rank}"));
        }
    }
    lines.truncate(4);
    lines.sort();
    expected.sort();
    assert_eq!(lines, expected);
    Ok(())
}

#[test]
fn the_last_of_equals_is_the_first_if_the_last_is_kept() -> Result<()> {
    let mut output = vec![];
    for keep_last in [false, true] {
        let mut with_order = node((1, 1), keep_last);
        with_order.partition = vec![];
        output.push(lines_of(with_order.operator()?, [rows(0, &[(1, 5), (2, 5), (3, 4)])?])?);
    }
    assert!(output[0][0].starts_with("+I 1 5"), "{output:?}");
    assert!(output[1][0].starts_with("+I 2 5"), "{output:?}");
    Ok(())
}

#[test]
fn late_rows_within_the_allowed_lateness_change_the_ranking() -> Result<()> {
    let node = node((1, 2), false).with_allowed_lateness(500);
    let mut driver = Driver::detached(Box::new(node.operator()?), 1, 100)?;
    driver.input(0, rows(0, &[(1, 5), (1, 9), (1, 7)])?, 0)?;
    driver.input(0, watermark(999), 0)?;
    driver.input(0, rows(0, &[(1, 8), (2, 1), (1, 1)])?, 0)?;
    driver.input(0, watermark(1_499), 0)?;
    driver.input(0, rows(0, &[(1, 100)])?, 0)?;
    driver.end(0, 0)?;
    let mut lines = vec![];
    drain(&mut driver, &mut lines)?;
    lines.retain(|line| !line.starts_with("watermark"));
    let line = |kind, key, value, rank| {
        format!("{kind} {key} {value} 1970-01-01T00:00:00 1970-01-01T00:00:01 {rank}")
    };
    let expected = [
        line("+I", 1, 9, 1),
        line("+I", 1, 7, 2),
        line("-D", 1, 7, 2),
        line("+I", 1, 8, 2),
        line("+I", 2, 1, 1),
    ];
    assert_eq!(lines, expected);
    assert_eq!(driver.metrics().late_rows.value(), 1);
    assert_eq!(driver.metrics().state_bytes.value(), 0);
    Ok(())
}
