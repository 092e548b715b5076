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
