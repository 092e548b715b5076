use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, ListArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Int32Type, Schema};
use datafusion_common::Result;
use datafusion_physical_expr::expressions::col;

use super::{UnnestNode, element_fields, unnest_schema};
use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::testing::{changes, lines_of};

#[test]
fn each_element_has_the_kind_of_its_row() -> Result<()> {
    let lists = vec![Some(vec![Some(1), None]), Some(vec![]), None, Some(vec![Some(2)])];
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists));
    let input = Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int32, false),
        Field::new("l", lists.data_type().clone(), true),
    ]));
    let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(0..4));
    let batch = RecordBatch::try_new(Arc::clone(&input), vec![ids, lists])?;
    let kinds = vec![RowKind::Insert, RowKind::UpdateBefore, RowKind::UpdateAfter, RowKind::Delete];
    let rows = changes(ChangelogBatch::try_new(batch, kinds.into())?);
    let mut fields = element_fields(input.field(1).data_type())?;
    fields.push(Field::new("pos", DataType::Int32, true));
    let node = UnnestNode::new(col("l", &input)?, true, Arc::new(unnest_schema(&input, &fields)));
    let lines = lines_of(node.operator(), [rows.clone()])?;
    assert_eq!(lines, ["+I 0 [1, NULL] 1 1", "+I 0 [1, NULL] NULL 2", "-D 3 [2] 2 1"]);
    let lines = lines_of(node.outer(None).operator(), [rows])?;
    let padded = [
        "+I 0 [1, NULL] 1 1",
        "+I 0 [1, NULL] NULL 2",
        "-U 1 [] NULL NULL",
        "+U 2 NULL NULL NULL",
        "-D 3 [2] 2 1",
    ];
    assert_eq!(lines, padded);
    Ok(())
}
