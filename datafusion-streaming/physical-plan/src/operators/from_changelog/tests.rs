use std::sync::Arc;

use arrow::array::{Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion_common::Result;

use super::FromChangelogNode;
use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::testing::{changes, lines_of};
use crate::runtime::StreamNode;

#[test]
fn codes_become_kinds_and_unknown_ones_are_refused() -> Result<()> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("op", DataType::Utf8, true),
        Field::new("v", DataType::Int32, true),
    ]));
    let codes = vec![("c".to_string(), RowKind::Insert), ("d".to_string(), RowKind::Delete)];
    let node = FromChangelogNode::try_new(0, codes, &schema)?;
    assert_eq!(node.schema().fields().len(), 1);
    let rows = |ops: Vec<&str>| -> Result<_> {
        let values = Int32Array::from_iter_values(0..ops.len() as i32);
        let batch = RecordBatch::try_new(
            Arc::clone(&schema),
            vec![Arc::new(StringArray::from(ops)), Arc::new(values)],
        )?;
        Ok(changes(ChangelogBatch::insert_only(batch)))
    };
    assert_eq!(lines_of(node.operator(), [rows(vec!["c", "d"])?])?, ["+I 0", "-D 1"]);
    let error = lines_of(node.operator(), [rows(vec!["c", "x"])?]).unwrap_err();
    assert!(error.to_string().contains("'x'"), "{error}");
    Ok(())
}
