use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{binary, col, lit};

use super::CalcNode;
use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::testing::{changes, lines_of};

#[test]
fn either_half_of_an_update_may_leave_the_filter() -> Result<()> {
    let schema = Arc::new(Schema::new(vec![Field::new("v", DataType::Int64, true)]));
    let values = Int64Array::from(vec![Some(1), Some(5), Some(5), Some(9), None]);
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(values)])?;
    let kinds = [RowKind::UpdateBefore, RowKind::UpdateAfter, RowKind::UpdateBefore, RowKind::UpdateAfter];
    let kinds: Vec<_> = kinds.into_iter().chain([RowKind::Delete]).collect();
    let input = ChangelogBatch::try_new(batch, kinds.into())?;

    let v = col("v", &schema)?;
    let filter = binary(Arc::clone(&v), Operator::Lt, lit(ScalarValue::Int64(Some(6))), &schema)?;
    let twice = binary(v, Operator::Multiply, lit(ScalarValue::Int64(Some(2))), &schema)?;
    let node = CalcNode::filter_project(filter, vec![twice], Arc::clone(&schema));
    assert_eq!(lines_of(node.operator(), [changes(input)])?, ["-U 2", "+U 10", "-U 10"]);
    Ok(())
}

#[test]
fn nodes_in_a_row_are_one_unless_something_is_computed_twice() -> Result<()> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("a", DataType::Int64, true),
        Field::new("b", DataType::Int64, true),
    ]));
    let (a, b) = (col("a", &schema)?, col("b", &schema)?);
    let number = |number: i64| lit(ScalarValue::Int64(Some(number)));
    let sum = binary(Arc::clone(&a), Operator::Plus, Arc::clone(&b), &schema)?;
    let below = CalcNode::filter_project(
        binary(Arc::clone(&a), Operator::Gt, number(1), &schema)?,
        vec![b, sum],
        Arc::clone(&schema),
    );
    // over b and a + b
    let once = CalcNode::filter_project(
        binary(Arc::clone(&a), Operator::Lt, number(30), &schema)?,
        vec![col("b", &schema)?, a],
        Arc::clone(&schema),
    );
    let twice =
        CalcNode::filter(binary(col("b", &schema)?, Operator::Lt, number(30), &schema)?, Arc::clone(&schema));
    assert!(twice.merged_with(&below)?.is_none(), "a + b is tested and put out");
    let Some(merged) = once.merged_with(&below)? else { panic!("a + b is put out only") };

    let columns: [Vec<i64>; 2] = [vec![1, 2, 3, 4], vec![10, 20, 30, 40]];
    let columns = columns.map(|column| Arc::new(Int64Array::from(column)) as _);
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns.to_vec())?;
    let lines =
        |node: &CalcNode| lines_of(node.operator(), [changes(ChangelogBatch::insert_only(batch.clone()))]);
    assert_eq!(lines(&merged)?, ["+I 22 20"]);

    // a filter alone keeps the columns of what is below
    let renamed = CalcNode::columns(&[1, 0], &schema)?;
    let Some(merged) = twice.merged_with(&renamed)? else { panic!("columns are not computed") };
    assert_eq!(lines(&merged)?, ["+I 10 1", "+I 20 2", "+I 30 3", "+I 40 4"]);
    Ok(())
}
