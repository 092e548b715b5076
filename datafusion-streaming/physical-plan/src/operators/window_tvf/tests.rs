use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, TimestampMillisecondArray};
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use datafusion_common::Result;

use super::WindowTvfNode;
use crate::changelog::ChangelogBatch;
use crate::operators::testing::{changes, lines_of};
use crate::time::{LocalZone, WindowAssigner};

fn lines(times: Vec<Option<i64>>, zone: Option<&str>, assigner: WindowAssigner) -> Result<Vec<String>> {
    let instants = zone.map(|_| Arc::from("UTC"));
    let schema = Schema::new(vec![Field::new(
        "ts",
        DataType::Timestamp(TimeUnit::Millisecond, instants.clone()),
        true,
    )]);
    let local = LocalZone::parse(zone.unwrap_or("UTC"))?;
    let node = WindowTvfNode::try_new(0, assigner, local, &schema)?;
    let column: ArrayRef = Arc::new(TimestampMillisecondArray::from(times).with_timezone_opt(instants));
    let batch = RecordBatch::try_new(Arc::new(schema), vec![column])?;
    lines_of(node.operator(), [changes(ChangelogBatch::insert_only(batch))])
}

#[test]
fn tumble_adds_the_window_of_each_row() -> Result<()> {
    let tumble = WindowAssigner::Tumble { size: 5_000, offset: 0 };
    let expected = "+I 1970-01-01T00:00:07 1970-01-01T00:00:05 1970-01-01T00:00:10 1970-01-01T00:00:09.999";
    assert_eq!(lines(vec![Some(7_000)], None, tumble)?, [expected]);
    let error = lines(vec![None], None, tumble).unwrap_err().to_string();
    assert!(error.contains("time column ts"), "{error}");
    Ok(())
}

#[test]
fn instants_have_windows_of_the_wall_clock() -> Result<()> {
    let day = WindowAssigner::Tumble { size: 86_400_000, offset: 0 };
    let expected = "+I 1970-01-01T20:00:00Z 1970-01-02T00:00:00 1970-01-03T00:00:00 1970-01-02T18:29:59.999Z";
    assert_eq!(lines(vec![Some(20 * 3_600_000)], Some("GMT+05:30"), day)?, [expected]);
    Ok(())
}
