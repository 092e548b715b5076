use std::sync::Arc;

use arrow::array::{Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion_common::Result;

use super::{ExpandNode, GroupingSet};
use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::testing::{changes, lines_of};

#[test]
fn every_row_comes_once_for_each_set() -> Result<()> {
    let input = Arc::new(Schema::new(vec![
        Field::new("region", DataType::Utf8, false),
        Field::new("qty", DataType::Int32, false),
    ]));
    let sets = vec![GroupingSet { nulls: vec![false], id: 0 }, GroupingSet { nulls: vec![true], id: 1 }];
    let id = Field::new("__grouping_id", DataType::UInt8, false);
    let node = ExpandNode::new(vec![0], sets, id, vec![1, 0], Arc::clone(&input));
    let batch = RecordBatch::try_new(
        input,
        vec![Arc::new(StringArray::from(vec!["n", "s"])), Arc::new(Int32Array::from(vec![1, 2]))],
    )?;
    let rows = ChangelogBatch::try_new(batch, vec![RowKind::Insert, RowKind::Delete].into())?;
    let lines = lines_of(node.operator(), [changes(rows)])?;
    assert_eq!(lines, ["+I n 0 1 n", "+I NULL 1 1 n", "-D s 0 2 s", "-D NULL 1 2 s"]);
    Ok(())
}
