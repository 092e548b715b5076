use std::sync::Arc;

use arrow::array::{Int32Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion_common::Result;
use datafusion_expr::Operator as Op;
use datafusion_physical_expr::expressions::{binary, col, lit};

use super::ChangelogNormalizeNode;
use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::testing::{changes, lines_of};
use crate::runtime::StreamElement;

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("k", DataType::Int32, false),
        Field::new("v", DataType::Int32, true),
    ]))
}

fn rows(rows: &[(RowKind, i32, i32)]) -> Result<StreamElement> {
    let keys = Int32Array::from_iter_values(rows.iter().map(|row| row.1));
    let values = Int32Array::from_iter_values(rows.iter().map(|row| row.2));
    let batch = RecordBatch::try_new(schema(), vec![Arc::new(keys), Arc::new(values)])?;
    Ok(changes(ChangelogBatch::try_new(batch, rows.iter().map(|row| row.0).collect())?))
}

use RowKind::{Delete, Insert, UpdateAfter, UpdateBefore};

#[test]
fn upserts_become_updates_with_their_old_content() -> Result<()> {
    let node = ChangelogNormalizeNode::new(vec![0], schema());
    let input = rows(&[
        (UpdateAfter, 1, 10),
        (Insert, 1, 10),
        (UpdateBefore, 1, 10),
        (UpdateAfter, 1, 11),
        (UpdateAfter, 1, 12),
        (Delete, 1, 0),
        (Delete, 1, 0),
        (UpdateAfter, 1, 13),
    ])?;
    let expected = ["+I 1 10", "-U 1 10", "+U 1 11", "-U 1 11", "+U 1 12", "-D 1 12", "+I 1 13"];
    assert_eq!(lines_of(node.operator()?, [input])?, expected);
    Ok(())
}

#[test]
fn a_row_that_fails_the_filter_is_as_good_as_deleted() -> Result<()> {
    let filter = binary(col("v", &schema())?, Op::Gt, lit(5), &schema())?;
    let node = ChangelogNormalizeNode::new(vec![0], schema()).filtered(filter).unwrap();
    let input = rows(&[(Insert, 1, 1), (UpdateAfter, 1, 6), (UpdateAfter, 1, 7), (UpdateAfter, 1, 2)])?;
    assert_eq!(lines_of(node.operator()?, [input])?, ["+I 1 6", "-U 1 6", "+U 1 7", "-D 1 7"]);
    Ok(())
}
