use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, TimestampMillisecondArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion_common::Result;

use super::SessionTvfNode;
use crate::changelog::ChangelogBatch;
use crate::operators::testing::{changes, drain, watermark};
use crate::runtime::{Driver, StreamElement};
use crate::time::LocalZone;

fn input() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("k", DataType::Int64, true),
        Field::new("ts", DataType::Timestamp(TimeUnit::Millisecond, None), false),
    ]))
}

fn rows(rows: &[(i64, i64)]) -> Result<StreamElement> {
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let times = rows.iter().map(|row| row.1).collect::<Vec<_>>();
    let times: ArrayRef = Arc::new(TimestampMillisecondArray::from(times));
    Ok(changes(ChangelogBatch::insert_only(RecordBatch::try_new(input(), vec![keys, times])?)))
}

fn node() -> Result<SessionTvfNode> {
    SessionTvfNode::try_new(1, 1_000, vec![0], LocalZone::UTC, input())
}

const EPOCH: &str = "1970-01-01T00:00:0";

#[test]
fn rows_wait_for_their_session_and_a_row_joins_two() -> Result<()> {
    let mut driver = Driver::detached(Box::new(node()?.operator()?), 1, 100)?;
    driver.input(0, rows(&[(1, 0), (1, 2_000), (2, 500), (1, 1_000)])?, 0)?;
    driver.input(0, watermark(1_499), 0)?;
    // of key 2 all is over; of key 1 the session goes on
    driver.input(0, rows(&[(2, 400), (1, 400)])?, 0)?;
    driver.end(0, 0)?;
    let mut lines = vec![];
    drain(&mut driver, &mut lines)?;
    let line = |key, time, start, end, last| {
        format!("+I {key} {EPOCH}{time} {EPOCH}{start} {EPOCH}{end} {EPOCH}{last}")
    };
    let expected = [
        line(2, "0.500", "0.500", "1.500", "1.499"),
        "watermark 1499".to_string(),
        line(1, "0", "0", "3", "2.999"),
        line(1, "2", "0", "3", "2.999"),
        line(1, "1", "0", "3", "2.999"),
        line(1, "0.400", "0", "3", "2.999"),
        "watermark MAX".to_string(),
    ];
    assert_eq!(lines, expected);
    assert_eq!(driver.metrics().late_rows.value(), 1);
    Ok(())
}

#[test]
fn sessions_over_processing_time_end_by_the_clock() -> Result<()> {
    let mut driver = Driver::detached(Box::new(node()?.with_proctime(true).operator()?), 1, 100)?;
    let mut lines = vec![];
    driver.input(0, rows(&[(1, 0)])?, 0)?;
    assert_eq!(driver.next_timer(), Some(1_000));
    driver.input(0, rows(&[(1, 600)])?, 600)?;
    driver.fire_timer(1_000)?;
    drain(&mut driver, &mut lines)?;
    assert!(lines.is_empty(), "the session has grown");
    assert_eq!(driver.next_timer(), Some(1_600));
    driver.fire_timer(1_600)?;
    drain(&mut driver, &mut lines)?;
    assert_eq!(lines.len(), 2);
    assert_eq!(driver.next_timer(), None);
    Ok(())
}
