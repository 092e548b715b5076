use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, TimestampMillisecondArray};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion_common::{Result, ScalarValue};
use datafusion_streaming_udfs::aggregate::{StreamingAggregate, Sum};

use super::{OverCall, OverFrame, OverNode, ValueOverNode};
use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::aggregate::AggregateCall;
use crate::operators::testing::{changes, drain, lines_of, watermark};
use crate::runtime::{Driver, Operator, StreamElement, StreamTraits, TimeAttributeKind};

pub(super) fn input() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("v", DataType::Int64, true),
        Field::new("k", DataType::Int64, true),
        Field::new("ts", DataType::Timestamp(TimeUnit::Millisecond, None), true),
    ]))
}

/// `(v, k, ts)`
fn rows(rows: &[(i64, i64, i64)]) -> Result<StreamElement> {
    let kinds = vec![RowKind::Insert; rows.len()];
    kinded(rows, kinds)
}

fn kinded(rows: &[(i64, i64, i64)], kinds: Vec<RowKind>) -> Result<StreamElement> {
    let batch = batch(rows.iter().map(|(v, k, ts)| (Some(*v), *k, *ts)))?;
    Ok(changes(ChangelogBatch::try_new(batch, kinds.into())?))
}

/// `v`, `k` and `ts` of rows.
pub(super) fn batch(rows: impl Iterator<Item = (Option<i64>, i64, i64)>) -> Result<RecordBatch> {
    let rows: Vec<_> = rows.collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(|row| row.0).collect::<Int64Array>()),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1))),
        Arc::new(TimestampMillisecondArray::from_iter_values(rows.iter().map(|row| row.2))),
    ];
    Ok(RecordBatch::try_new(input(), columns)?)
}

/// A call over `v`.
pub(super) fn aggregate(function: impl StreamingAggregate + 'static) -> OverCall {
    OverCall::Aggregate(AggregateCall {
        display: function.name().to_string(),
        function: Arc::new(function),
        args: vec![0],
        filter: None,
        distinct: false,
        ignore_nulls: false,
        appends_only: false,
        return_type: DataType::Int64,
    })
}

/// Passes `v` on, with a number for each call.
fn schema(calls: usize) -> SchemaRef {
    let result = |call| Field::new(format!("r{call}"), DataType::Int64, true);
    Arc::new(Schema::new(
        std::iter::once(Field::new("v", DataType::Int64, true))
            .chain((0..calls).map(result))
            .collect::<Vec<_>>(),
    ))
}

fn node(frame: OverFrame, calls: Vec<OverCall>) -> OverNode {
    let schema = schema(calls.len());
    OverNode::new(vec![1], (2, TimeAttributeKind::Rowtime), frame, calls, input(), schema, 0)
}

fn released() -> Result<[StreamElement; 4]> {
    Ok([
        rows(&[(1, 0, 10), (4, 0, 30), (2, 0, 20), (100, 1, 20)])?,
        watermark(20),
        rows(&[(3, 0, 20), (8, 0, 30), (16, 0, 40)])?,
        watermark(50),
    ])
}

#[test]
fn frames_grow_and_move() -> Result<()> {
    let expect = |frame, expected: [&str; 6]| -> Result<()> {
        let mut lines = lines_of(node(frame, vec![aggregate(Sum)]).operator()?, released()?)?;
        lines.retain(|line| !line.starts_with("watermark"));
        assert_eq!(lines, expected, "{frame}");
        Ok(())
    };
    expect(OverFrame::UnboundedRows, ["+I 1 1", "+I 2 3", "+I 100 100", "+I 4 7", "+I 8 15", "+I 16 31"])?;
    expect(OverFrame::UnboundedRange, ["+I 1 1", "+I 2 3", "+I 100 100", "+I 4 15", "+I 8 15", "+I 16 31"])?;
    expect(OverFrame::Rows(1), ["+I 1 1", "+I 2 3", "+I 100 100", "+I 4 6", "+I 8 12", "+I 16 24"])?;
    expect(OverFrame::Range(10), ["+I 1 1", "+I 2 3", "+I 100 100", "+I 4 14", "+I 8 14", "+I 16 28"])
}

#[test]
fn ranks_and_lag_know_peers() -> Result<()> {
    let lag = OverCall::Lag { column: 0, offset: 1, default: Some(ScalarValue::Int64(Some(-1))) };
    let calls = vec![OverCall::RowNumber, OverCall::Rank, OverCall::DenseRank, lag];
    let mut lines = lines_of(node(OverFrame::UnboundedRange, calls).operator()?, released()?)?;
    lines.retain(|line| !line.starts_with("watermark"));
    assert_eq!(
        lines,
        ["+I 1 1 1 1 -1", "+I 2 2 2 2 1", "+I 100 1 1 1 -1", "+I 4 3 3 3 4", "+I 8 4 3 3 4", "+I 16 5 5 4 8"]
    );
    Ok(())
}

#[test]
fn a_snapshot_restores_frames_and_what_waits() -> Result<()> {
    for frame in
        [OverFrame::UnboundedRows, OverFrame::UnboundedRange, OverFrame::Rows(1), OverFrame::Range(10)]
    {
        let node = node(frame, vec![aggregate(Sum)]);
        let whole = lines_of(node.operator()?, released()?)?;
        let mut first = Driver::detached(Box::new(node.operator()?), 1, 100)?;
        let [one, two, three, four] = released()?;
        first.input(0, one, 0)?;
        first.input(0, two, 0)?;
        let snapshot = first.snapshot()?;
        let mut operator = node.operator()?;
        let saved = &snapshot.tables[0].rows;
        operator.tables()[0].restore(&saved.project(&(1..saved.num_columns()).collect::<Vec<_>>())?)?;
        let mut lines = lines_of(operator, [watermark(20), three, four])?;
        lines.retain(|line| line != "watermark 20");
        assert_eq!(lines, whole[4..], "{frame}");
    }
    Ok(())
}

#[test]
fn a_key_without_rows_is_forgotten_after_its_time_to_live() -> Result<()> {
    let (frame, schema) = (OverFrame::UnboundedRows, schema(1));
    let time = (2, TimeAttributeKind::Rowtime);
    let node = OverNode::new(vec![1], time, frame, vec![aggregate(Sum)], input(), schema, 100);
    let mut driver = Driver::detached(Box::new(node.operator()?), 1, 100)?;
    driver.input(0, rows(&[(1, 0, 10), (2, 1, 30)])?, 1_000)?;
    driver.input(0, watermark(20), 1_000)?;
    driver.fire_timer(1_100)?;
    driver.input(0, rows(&[(4, 0, 40), (8, 1, 40)])?, 1_100)?;
    driver.input(0, watermark(50), 1_100)?;
    let mut lines = vec![];
    drain(&mut driver, &mut lines)?;
    lines.retain(|line| !line.starts_with("watermark"));
    assert_eq!(lines, ["+I 1 1", "+I 2 2", "+I 4 4", "+I 8 10"], "key 1 had a row waiting");
    Ok(())
}

#[test]
fn by_a_value_rows_change_those_behind_them() -> Result<()> {
    let sort = (0, SortOptions::default());
    let node = ValueOverNode::new(
        vec![],
        sort,
        true,
        vec![aggregate(Sum)],
        input(),
        schema(1),
        &StreamTraits::default(),
    );
    let (insert, delete) = (RowKind::Insert, RowKind::Delete);
    let kinds = vec![insert, insert, insert, delete, delete];
    let changes = kinded(&[(1, 0, 0), (5, 0, 0), (3, 0, 0), (1, 0, 0), (9, 0, 0)], kinds)?;
    let lines = lines_of(node.operator()?, [changes])?;
    let expected =
        ["+I 1 1", "+I 5 6", "+I 3 4", "-U 5 6", "+U 5 9", "-D 1 1", "-U 3 4", "+U 3 3", "-U 5 9", "+U 5 8"];
    assert_eq!(lines, expected, "the retraction of 9, which is not there, is ignored");
    Ok(())
}

#[test]
fn by_a_value_a_partition_without_changes_is_forgotten_after_its_time_to_live() -> Result<()> {
    let sort = (0, SortOptions::default());
    let node = ValueOverNode::new(
        vec![1],
        sort,
        true,
        vec![aggregate(Sum)],
        input(),
        schema(1),
        &StreamTraits::default(),
    );
    let node = node.with_ttl(100);
    let mut driver = Driver::detached(node.operator()?, 1, 100)?;
    driver.input(0, rows(&[(1, 0, 0), (2, 1, 0)])?, 1_000)?;
    driver.input(0, rows(&[(4, 0, 0)])?, 1_050)?;
    let snapshot = driver.snapshot()?;
    let mut lines = vec![];
    // before and after a sweep, and restored
    driver.input(0, rows(&[(8, 0, 0), (16, 1, 0)])?, 1_149)?;
    driver.fire_timer(1_260)?;
    driver.input(0, rows(&[(32, 0, 0), (64, 1, 0)])?, 1_260)?;
    drain(&mut driver, &mut lines)?;
    assert_eq!(lines, ["+I 1 1", "+I 2 2", "+I 4 5", "+I 8 13", "+I 16 16", "+I 32 32", "+I 64 64"]);

    let mut operator = node.operator()?;
    for (table, saved) in operator.tables().into_iter().zip(&snapshot.tables) {
        let columns: Vec<_> = (1..saved.rows.num_columns()).collect();
        table.restore(&saved.rows.project(&columns)?)?;
    }
    let mut restored = Driver::detached(operator, 1, 100)?;
    restored.input(0, rows(&[(8, 0, 0), (16, 1, 0)])?, 1_149)?;
    let mut lines = vec![];
    drain(&mut restored, &mut lines)?;
    assert_eq!(lines, ["+I 8 13", "+I 16 16"]);
    Ok(())
}
