use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, TimestampMillisecondArray};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion_common::Result;

use super::TemporalSortNode;
use crate::changelog::ChangelogBatch;
use crate::operators::testing::{changes, lines_of, watermark};
use crate::runtime::StreamElement;

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("v", DataType::Int64, true),
        Field::new("ts", DataType::Timestamp(TimeUnit::Millisecond, None), true),
    ]))
}

fn rows(rows: &[(i64, i64)]) -> Result<StreamElement> {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0))),
        Arc::new(TimestampMillisecondArray::from_iter_values(rows.iter().map(|row| row.1))),
    ];
    Ok(changes(ChangelogBatch::insert_only(RecordBatch::try_new(schema(), columns)?)))
}

#[test]
fn what_was_sent_decides_what_is_late() -> Result<()> {
    let node = TemporalSortNode::new(1, vec![], schema());
    let elements = [
        rows(&[(1, 50), (2, 10), (3, 10)])?,
        watermark(40),
        rows(&[(4, 10), (5, 20), (6, 50)])?,
        watermark(60),
    ];
    let lines: Vec<String> = lines_of(node.operator()?, elements)?
        .into_iter()
        .map(|line| line.chars().take(4).collect())
        .collect();
    assert_eq!(lines, ["+I 2", "+I 3", "wate", "+I 5", "+I 1", "+I 6", "wate"], "4 is late, 5 is not");
    Ok(())
}

#[test]
fn other_columns_decide_between_equal_times() -> Result<()> {
    let descending = SortOptions { descending: true, nulls_first: false };
    let node = TemporalSortNode::new(1, vec![(0, descending)], schema());
    let lines: Vec<String> = lines_of(node.operator()?, [rows(&[(1, 10), (3, 10), (2, 10), (9, 20)])?])?
        .into_iter()
        .map(|line| line.chars().take(4).collect())
        .collect();
    assert_eq!(lines, ["+I 3", "+I 2", "+I 1", "+I 9"]);
    Ok(())
}
