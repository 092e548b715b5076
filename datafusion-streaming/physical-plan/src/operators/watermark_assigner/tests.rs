use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, TimestampMillisecondArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion_common::Result;
use datafusion_physical_expr::expressions::col;

use super::WatermarkAssignerNode;
use crate::changelog::ChangelogBatch;
use crate::operators::testing::{changes, drain, lines_of};
use crate::runtime::{Driver, StreamElement};

fn schema() -> SchemaRef {
    let timestamp = DataType::Timestamp(TimeUnit::Millisecond, None);
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("ts", timestamp.clone(), true),
        Field::new("mark", timestamp, true),
    ]))
}

/// Rows with ids from 1 on, these rowtimes, and these values of the watermark expression.
fn rows(times: &[Option<i64>], marks: &[Option<i64>]) -> Result<StreamElement> {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(1..=times.len() as i64));
    let times: ArrayRef = Arc::new(TimestampMillisecondArray::from(times.to_vec()));
    let marks: ArrayRef = Arc::new(TimestampMillisecondArray::from(marks.to_vec()));
    let batch = RecordBatch::try_new(schema(), vec![ids, times, marks])?;
    Ok(changes(ChangelogBatch::insert_only(batch)))
}

fn node(idle_timeout: Option<i64>) -> Result<WatermarkAssignerNode> {
    Ok(WatermarkAssignerNode::new(1, col("mark", &schema())?, idle_timeout, schema()))
}

/// The output with rows reduced to their ids.
fn short(lines: Vec<String>) -> String {
    let id = |line: &String| match line.strip_prefix("+I ") {
        Some(row) => row.split(' ').next().unwrap_or_default().to_string(),
        None => line.replace("watermark ", "w"),
    };
    lines.iter().map(id).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_batch_is_cut_only_in_front_of_a_late_row() -> Result<()> {
    let times = [1_000, 2_000, 1_500, 3_000, 2_600, 4_000].map(Some);
    let marks = [500, 1_500, 1_000, 2_500, 2_100, 3_500].map(Some);
    let input = [rows(&times, &marks)?];
    assert_eq!(short(lines_of(node(None)?.operator(), input)?), "1 2 w1500 3 4 5 6 w3500");
    Ok(())
}

#[test]
fn null_marks_and_times_before_the_epoch_move_nothing() -> Result<()> {
    let input =
        [rows(&[Some(-50), Some(9), Some(7)], &[Some(-50), Some(9), None])?, rows(&[Some(8)], &[None])?];
    assert_eq!(short(lines_of(node(None)?.operator(), input)?), "1 2 w9 3 1");
    Ok(())
}

#[test]
fn a_null_rowtime_is_an_error_that_names_the_column() -> Result<()> {
    let error = lines_of(node(None)?.operator(), [rows(&[None], &[None])?]).unwrap_err();
    assert!(error.to_string().contains("rowtime column ts is NULL"), "{error}");
    Ok(())
}

#[test]
fn silence_makes_idle_once() -> Result<()> {
    let mut driver = Driver::detached(Box::new(node(Some(100))?.operator()), 1, 10)?;
    let mut lines = vec![];
    assert_eq!(driver.next_timer(), None);
    driver.input(0, rows(&[Some(5)], &[Some(5)])?, 1_000)?;
    assert_eq!(driver.next_timer(), Some(1_100));
    driver.fire_timer(1_099)?;
    driver.fire_timer(1_100)?;
    driver.fire_timer(1_300)?;
    drain(&mut driver, &mut lines)?;
    assert_eq!(short(lines), "1 w5 idle");
    Ok(())
}
