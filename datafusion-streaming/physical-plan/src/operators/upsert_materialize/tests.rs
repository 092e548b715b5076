use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion_common::Result;

use super::UpsertMaterializeNode;
use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::testing::{changes, drain, lines_of};
use crate::runtime::{Driver, StreamElement, StreamNode};

fn schema() -> Arc<Schema> {
    let k = Field::new("k", DataType::Int32, true);
    Arc::new(Schema::new(vec![k, Field::new("v", DataType::Utf8, true)]))
}

fn rows(lines: &[(RowKind, i32, &str)]) -> Result<StreamElement> {
    let keys: ArrayRef = Arc::new(Int32Array::from_iter_values(lines.iter().map(|(_, key, _)| *key)));
    let values: ArrayRef = Arc::new(StringArray::from_iter_values(lines.iter().map(|(_, _, value)| value)));
    let batch = RecordBatch::try_new(schema(), vec![keys, values])?;
    Ok(changes(ChangelogBatch::try_new(batch, lines.iter().map(|(kind, _, _)| *kind).collect())?))
}

fn node() -> UpsertMaterializeNode {
    UpsertMaterializeNode::new(vec![0], schema())
}

#[test]
fn of_rows_under_one_key_the_last_that_is_left_is_the_tables() -> Result<()> {
    use RowKind::{Delete, Insert, UpdateAfter, UpdateBefore};
    let input = rows(&[
        (Insert, 1, "a"),
        (Insert, 1, "b"),
        (UpdateBefore, 1, "a"),
        (UpdateAfter, 1, "c"),
        (Delete, 1, "c"),
        (Delete, 1, "b"),
        (Delete, 1, "b"),
        (Insert, 2, "x"),
    ])?;
    let lines = lines_of(node().operator()?, [input.clone()])?;
    assert_eq!(
        lines,
        ["+I 1 a", "-U 1 a", "+U 1 b", "-U 1 b", "+U 1 c", "-U 1 c", "+U 1 b", "-D 1 b", "+I 2 x"]
    );
    let Some(upsert) = node().with_update_before(false) else { panic!("-U rows can be left out") };
    let upsert = upsert.downcast_ref::<UpsertMaterializeNode>().unwrap().operator()?;
    let lines = lines_of(upsert, [input])?;
    assert_eq!(lines, ["+I 1 a", "+U 1 b", "+U 1 c", "+U 1 b", "-D 1 b", "+I 2 x"]);
    Ok(())
}

#[test]
fn the_rows_of_a_key_come_back_in_their_order() -> Result<()> {
    use RowKind::{Delete, Insert};
    let mut driver = Driver::detached(Box::new(node().operator()?), 1, 8192)?;
    driver.input(0, rows(&[(Insert, 1, "a"), (Insert, 2, "x"), (Insert, 1, "b"), (Insert, 1, "c")])?, 0)?;
    let snapshot = driver.snapshot()?;
    let mut operator = node().operator()?;
    for (table, saved) in crate::runtime::Operator::tables(&mut operator).into_iter().zip(&snapshot.tables) {
        let columns: Vec<_> = (1..saved.rows.num_columns()).collect();
        table.restore(&saved.rows.project(&columns)?)?;
    }
    let mut restored = Driver::detached(Box::new(operator), 1, 8192)?;
    restored.input(0, rows(&[(Delete, 1, "c"), (Delete, 1, "a"), (Delete, 1, "b")])?, 0)?;
    let mut lines = vec![];
    drain(&mut restored, &mut lines)?;
    assert_eq!(lines, ["-U 1 c", "+U 1 b", "-D 1 b"]);
    Ok(())
}
