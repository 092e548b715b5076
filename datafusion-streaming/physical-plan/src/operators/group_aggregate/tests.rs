use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion_common::Result;
use datafusion_streaming_udfs::aggregate::{Count, Max, StreamingAggregate, Sum};

use super::GroupAggregateNode;
use crate::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use crate::operators::aggregate::AggregateCall;
use crate::operators::testing::{changes, drain, lines_of};
use crate::runtime::{Driver, Operator, StreamElement, StreamNode};

pub(super) fn input() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("k", DataType::Utf8, true), Field::new("v", DataType::Int32, true)]))
}

pub(super) fn call(
    function: Arc<dyn StreamingAggregate>,
    args: &[usize],
    return_type: DataType,
) -> AggregateCall {
    AggregateCall {
        display: format!("{}({args:?})", function.name()),
        function,
        args: args.to_vec(),
        filter: None,
        distinct: false,
        ignore_nulls: false,
        appends_only: false,
        return_type,
    }
}

/// `SELECT k, COUNT(*), SUM(v), MAX(v) … GROUP BY k`
pub(super) fn node(mode: ChangelogMode, ttl: i64) -> GroupAggregateNode {
    let calls = vec![
        call(Arc::new(Count), &[], DataType::Int64),
        call(Arc::new(Sum), &[1], DataType::Int32),
        call(Arc::new(Max), &[1], DataType::Int32),
    ];
    let schema = Schema::new(vec![
        Field::new("k", DataType::Utf8, true),
        Field::new("count", DataType::Int64, false),
        Field::new("sum", DataType::Int32, true),
        Field::new("max", DataType::Int32, true),
    ]);
    GroupAggregateNode::new(vec![0], calls, input(), Arc::new(schema), mode, ttl)
}

/// Changes written as `+I a 1`.
pub(super) fn rows(lines: &[&str]) -> Result<StreamElement> {
    let fields: Vec<Vec<&str>> = lines.iter().map(|line| line.split(' ').collect()).collect();
    let keys: ArrayRef = Arc::new(StringArray::from_iter_values(fields.iter().map(|row| row[1])));
    let values: ArrayRef =
        Arc::new(fields.iter().map(|row| row[2].parse::<i32>().ok()).collect::<Int32Array>());
    let kind = |row: &Vec<&str>| RowKind::ALL.into_iter().find(|kind| kind.short() == row[0]).unwrap();
    let batch = RecordBatch::try_new(input(), vec![keys, values])?;
    Ok(changes(ChangelogBatch::try_new(batch, fields.iter().map(kind).collect())?))
}

#[test]
fn appends_update_a_group_row_by_row() -> Result<()> {
    let rows = rows(&["+I a 1", "+I b NULL", "+I a 3", "+I a NULL"])?;
    let lines = lines_of(node(ChangelogMode::INSERT_ONLY, 0).operator()?, [rows])?;
    assert_eq!(
        lines,
        ["+I a 1 1 1", "+I b 1 NULL NULL", "-U a 1 1 1", "+U a 2 4 3", "-U a 2 4 3", "+U a 3 4 3"]
    );
    Ok(())
}

#[test]
fn a_group_dies_and_is_born_again_within_a_batch() -> Result<()> {
    let rows = rows(&["+I a 5", "-D a 5", "+I a 7", "-D b 1", "-U a 7", "+U a 8"])?;
    let lines = lines_of(node(ChangelogMode::ALL, 0).operator()?, [rows])?;
    assert_eq!(
        lines,
        ["+I a 1 5 5", "-D a 1 5 5", "+I a 1 7 7", "-D a 1 7 7", "+I a 1 8 8"],
        "the retraction of b, which is not there, is ignored"
    );
    Ok(())
}

#[test]
fn without_update_before_only_the_new_rows_are_made() -> Result<()> {
    let node = node(ChangelogMode::ALL, 0);
    let Some(upsert) = node.with_update_before(false) else { panic!("the node makes -U rows") };
    let upsert = upsert.downcast_ref::<GroupAggregateNode>().unwrap();
    let steady = rows(&["+I a 2", "+I a 3"])?;
    let lines = lines_of(upsert.operator()?, [rows(&["+I a 1", "+I b 1", "-D b 1"])?, steady])?;
    assert_eq!(lines, ["+I a 1 1 1", "+I b 1 1 1", "-D b 1 1 1", "+U a 2 3 2", "+U a 3 6 3"]);
    assert_eq!(upsert.traits(&[])?.mode, ChangelogMode::UPSERT);
    Ok(())
}

#[test]
fn a_group_whose_time_to_live_is_over_reads_as_absent() -> Result<()> {
    let mut driver = Driver::detached(Box::new(node(ChangelogMode::INSERT_ONLY, 100).operator()?), 1, 100)?;
    let mut lines = vec![];
    driver.input(0, rows(&["+I a 1", "+I b 1"])?, 1_000)?;
    driver.input(0, rows(&["+I a 0"])?, 1_050)?;
    driver.input(0, rows(&["+I b 2"])?, 1_100)?;
    driver.input(0, rows(&["+I a 0"])?, 1_149)?;
    drain(&mut driver, &mut lines)?;
    let expected =
        ["+I a 1 1 1", "+I b 1 1 1", "-U a 1 1 1", "+U a 2 1 1", "+I b 1 2 2", "-U a 2 1 1", "+U a 3 1 1"];
    assert_eq!(lines, expected, "unchanged results are emitted while a TTL is on");
    driver.fire_timer(10_000)?;
    assert_eq!(driver.snapshot()?.tables[0].rows.num_rows(), 0, "what nobody asked for is swept away");
    Ok(())
}

#[test]
fn a_snapshot_restores_every_group() -> Result<()> {
    let node = node(ChangelogMode::ALL, 0);
    let mut first = Driver::detached(Box::new(node.operator()?), 1, 100)?;
    first.input(0, rows(&["+I a 1", "+I b 2", "+I a 9", "-D b 2", "+I c 4"])?, 0)?;
    let snapshot = first.snapshot()?;

    let mut operator = node.operator()?;
    let saved = &snapshot.tables[0].rows;
    let columns: Vec<usize> = (1..saved.num_columns()).collect();
    operator.tables()[0].restore(&saved.project(&columns)?)?;
    let lines = lines_of(operator, [rows(&["-D a 9", "+I b 3", "-D c 4"])?])?;
    assert_eq!(lines, ["-U a 2 10 9", "+U a 1 1 1", "+I b 1 3 3", "-D c 1 4 4"]);
    Ok(())
}

#[test]
fn a_global_aggregate_has_no_row_before_the_first() -> Result<()> {
    let schema = Arc::new(Schema::new(vec![Field::new("count", DataType::Int64, false)]));
    let calls = vec![call(Arc::new(Count), &[], DataType::Int64)];
    let node = GroupAggregateNode::new(vec![], calls, input(), schema, ChangelogMode::ALL, 0);
    assert!(lines_of(node.operator()?, [])?.is_empty());
    let lines = lines_of(node.operator()?, [rows(&["-D a 1", "+I a 1", "+I a 2", "-D a 1", "-D a 2"])?])?;
    assert_eq!(lines, ["+I 1", "-U 1", "+U 2", "-U 2", "+U 1", "-D 1"]);
    Ok(())
}

#[test]
fn distinct_rows_of_appends_stay_appends() -> Result<()> {
    let schema = Arc::new(Schema::new(vec![Field::new("k", DataType::Utf8, true)]));
    let node = GroupAggregateNode::new(vec![0], vec![], input(), schema, ChangelogMode::INSERT_ONLY, 0);
    assert!(node.traits(&[])?.mode.is_insert_only());
    assert_eq!(lines_of(node.operator()?, [rows(&["+I a 1", "+I a 2", "+I b 1"])?])?, ["+I a", "+I b"]);
    Ok(())
}

#[test]
fn a_million_keys_take_at_most_96_bytes_each() -> Result<()> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("k", DataType::Int64, false),
        Field::new("v", DataType::Int64, false),
    ]));
    let calls = vec![
        call(Arc::new(Count), &[], DataType::Int64),
        call(Arc::new(Sum), &[1], DataType::Int64),
        call(Arc::new(Max), &[1], DataType::Int64),
    ];
    let output = Schema::new(vec![
        Field::new("k", DataType::Int64, false),
        Field::new("count", DataType::Int64, false),
        Field::new("sum", DataType::Int64, true),
        Field::new("max", DataType::Int64, true),
    ]);
    let mode = ChangelogMode::INSERT_ONLY;
    let node = GroupAggregateNode::new(vec![0], calls, Arc::clone(&schema), Arc::new(output), mode, 0);
    let mut driver = Driver::detached(Box::new(node.operator()?), 1, 1 << 20)?;
    let keys = 1_000_000i64;
    for start in (0..keys).step_by(8192) {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(start..(start + 8192).min(keys)));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::clone(&values), values])?;
        driver.input(0, changes(ChangelogBatch::insert_only(batch)), 0)?;
        while driver.pop().is_some() {}
    }
    let bytes = driver.metrics().state_bytes.value();
    assert!(bytes <= 96 * keys as usize, "{} bytes a key", bytes as f64 / keys as f64);
    Ok(())
}
