use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion_common::Result;

use super::{DeduplicateNode, Keep};
use crate::changelog::ChangelogBatch;
use crate::operators::aggregate::Bundling;
use crate::operators::testing::{changes, drain, lines_of, watermark};
use crate::runtime::{Driver, Operator, StreamElement, StreamNode, TimeAttributeKind};

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("k", DataType::Utf8, true),
        Field::new("v", DataType::Int64, true),
        Field::new("ts", DataType::Timestamp(TimeUnit::Millisecond, None), true),
    ]))
}

fn rows(rows: &[(&str, i64, i64)]) -> Result<StreamElement> {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.0))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1))),
        Arc::new(TimestampMillisecondArray::from_iter_values(rows.iter().map(|row| row.2))),
    ];
    Ok(changes(ChangelogBatch::insert_only(RecordBatch::try_new(schema(), columns)?)))
}

fn node(kind: TimeAttributeKind, keep: Keep, ttl: i64) -> DeduplicateNode {
    DeduplicateNode::new(vec![0], 2, kind, keep, schema(), ttl)
}

fn values(lines: Vec<String>) -> Vec<String> {
    // the time is the same for all that matters here
    lines.into_iter().map(|line| line.split(' ').take(3).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn the_first_row_waits_for_the_watermark() -> Result<()> {
    let node = node(TimeAttributeKind::Rowtime, Keep::First, 0);
    let elements = [
        rows(&[("a", 1, 30), ("b", 2, 50), ("a", 3, 20)])?,
        watermark(35),
        rows(&[("a", 4, 40), ("c", 5, 10), ("b", 6, 45)])?,
        watermark(60),
    ];
    let lines = values(lines_of(node.operator()?, elements)?);
    assert_eq!(lines, ["+I a 3", "watermark 35", "+I b 6", "watermark 60"], "c is late");
    Ok(())
}

#[test]
fn the_last_row_replaces_those_that_are_not_newer() -> Result<()> {
    let node = node(TimeAttributeKind::Rowtime, Keep::Last, 0);
    let input = || rows(&[("a", 1, 30), ("a", 2, 20), ("b", 3, 1), ("a", 4, 30)]);
    let lines = values(lines_of(node.operator()?, [input()?])?);
    assert_eq!(lines, ["+I a 1", "+I b 3", "-U a 1", "+U a 4"]);
    let Some(upsert) = node.with_update_before(false) else { panic!("the node makes -U rows") };
    let upsert = upsert.downcast_ref::<DeduplicateNode>().unwrap();
    assert_eq!(values(lines_of(upsert.operator()?, [input()?])?), ["+I a 1", "+I b 3", "+U a 4"]);
    Ok(())
}

#[test]
fn by_processing_time_equal_rows_change_nothing() -> Result<()> {
    let input = || rows(&[("a", 1, 1), ("a", 1, 2), ("a", 2, 3), ("b", 1, 3)]);
    let last = node(TimeAttributeKind::Proctime, Keep::Last, 0);
    assert_eq!(values(lines_of(last.operator()?, [input()?])?), ["+I a 1", "-U a 1", "+U a 2", "+I b 1"]);
    let first = node(TimeAttributeKind::Proctime, Keep::First, 0);
    assert_eq!(values(lines_of(first.operator()?, [input()?, input()?])?), ["+I a 1", "+I b 1"]);
    Ok(())
}

#[test]
fn state_that_has_expired_reads_as_absent() -> Result<()> {
    for keep in [Keep::First, Keep::Last] {
        let node = node(TimeAttributeKind::Proctime, keep, 100);
        let mut driver = Driver::detached(Box::new(node.operator()?), 1, 100)?;
        driver.input(0, rows(&[("a", 1, 1), ("b", 1, 1)])?, 1_000)?;
        driver.input(0, rows(&[("a", 2, 2)])?, 1_100)?;
        let mut lines = vec![];
        drain(&mut driver, &mut lines)?;
        assert_eq!(values(lines), ["+I a 1", "+I b 1", "+I a 2"]);
        driver.fire_timer(2_000)?;
        assert_eq!(driver.snapshot()?.tables[0].rows.num_rows(), 0);
    }
    Ok(())
}

#[test]
fn a_snapshot_restores_what_waits_and_what_has_gone_out() -> Result<()> {
    let node = node(TimeAttributeKind::Rowtime, Keep::First, 0);
    let mut first = Driver::detached(Box::new(node.operator()?), 1, 100)?;
    first.input(0, rows(&[("a", 1, 10), ("b", 2, 50)])?, 0)?;
    first.input(0, watermark(20), 0)?;
    let snapshot = first.snapshot()?;
    let mut operator = node.operator()?;
    let saved = &snapshot.tables[0].rows;
    operator.tables()[0].restore(&saved.project(&(1..saved.num_columns()).collect::<Vec<_>>())?)?;
    let lines = values(lines_of(operator, [rows(&[("a", 3, 60), ("b", 4, 60), ("c", 5, 60)])?])?);
    assert_eq!(lines, ["+I b 2", "+I c 5"]);
    Ok(())
}

#[test]
fn without_update_before_the_times_of_the_last_rows_are_the_state() -> Result<()> {
    let node = node(TimeAttributeKind::Rowtime, Keep::Last, 0).with_update_before(false).unwrap();
    let node = node.downcast_ref::<DeduplicateNode>().unwrap();
    let mut first = Driver::detached(Box::new(node.operator()?), 1, 100)?;
    first.input(0, rows(&[("a", 1, 10), ("b", 2, 50)])?, 0)?;
    let saved = &first.snapshot()?.tables[0].rows;
    assert_eq!(saved.num_columns(), 4, "key group, key, $time, $written");
    let mut operator = node.operator()?;
    operator.tables()[0].restore(&saved.project(&(1..saved.num_columns()).collect::<Vec<_>>())?)?;
    let lines = values(lines_of(operator, [rows(&[("a", 3, 10), ("b", 4, 49), ("c", 5, 60)])?])?);
    assert_eq!(lines, ["+U a 3", "+I c 5"]);
    Ok(())
}

#[test]
fn of_a_bundle_one_row_of_a_key_is_looked_at() -> Result<()> {
    let bundling = Bundling { size: 4, latency: 0 };
    let input = || rows(&[("a", 1, 30), ("a", 2, 20), ("b", 3, 1), ("a", 4, 10), ("a", 5, 40), ("b", 6, 2)]);
    let lines = |kind, keep, compacting| -> Result<Vec<String>> {
        let node = node(kind, keep, 0).with_bundling(bundling, compacting);
        Ok(values(lines_of(node.operator()?, [input()?])?))
    };
    let (proctime, rowtime) = (TimeAttributeKind::Proctime, TimeAttributeKind::Rowtime);
    assert_eq!(lines(proctime, Keep::First, false)?, ["+I a 1", "+I b 3"]);
    assert_eq!(
        lines(proctime, Keep::Last, false)?,
        ["+I b 3", "+I a 4", "-U a 4", "+U a 5", "-U b 3", "+U b 6"]
    );
    assert_eq!(
        lines(rowtime, Keep::Last, true)?,
        ["+I a 1", "+I b 3", "-U a 1", "+U a 5", "-U b 3", "+U b 6"]
    );
    // without compaction the changes are those of single rows
    assert_eq!(
        lines(rowtime, Keep::Last, false)?,
        ["+I a 1", "+I b 3", "-U a 1", "+U a 5", "-U b 3", "+U b 6"]
    );
    Ok(())
}
