//! Two-input operators by hand: rows `k v` of integers, `_` for NULL.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit, TimestampMillisecondType};
use datafusion_common::{JoinType, Result};

use super::regular::JoinSpec;
use crate::changelog::{ChangelogBatch, RowKind};
use crate::operators::testing::{changes, drain};
use crate::runtime::{Driver, Operator, StreamElement};

/// `k` and a number or, `timed`, a timestamp.
pub(super) fn schema(timed: bool) -> SchemaRef {
    let second = match timed {
        true => Field::new("ts", DataType::Timestamp(TimeUnit::Millisecond, None), true),
        false => Field::new("v", DataType::Int64, true),
    };
    Arc::new(Schema::new(vec![Field::new("k", DataType::Int32, true), second]))
}

/// A join of two such inputs on `k`.
pub(super) fn spec(join_type: JoinType, timed: bool) -> JoinSpec {
    let side = schema(timed);
    let one_side = matches!(join_type, JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark);
    let mut fields: Vec<_> = side.fields().iter().cloned().collect();
    if !one_side {
        fields.extend(side.fields().iter().cloned());
    }
    if join_type == JoinType::LeftMark {
        fields.push(Arc::new(Field::new("mark", DataType::Boolean, false)));
    }
    JoinSpec {
        join_type,
        keys: [vec![0], vec![0]],
        null_safe: false,
        residual: None,
        inputs: [Arc::clone(&side), side],
        schema: Arc::new(Schema::new(fields)),
        projection: None,
    }
}

/// Changes written as `+I 1 10`.
pub(super) fn rows(lines: &[&str], timed: bool) -> Result<StreamElement> {
    let fields: Vec<Vec<&str>> = lines.iter().map(|line| line.split(' ').collect()).collect();
    let keys: Int32Array = fields.iter().map(|row| row[1].parse::<i32>().ok()).collect();
    let values: Int64Array = fields.iter().map(|row| row[2].parse::<i64>().ok()).collect();
    let kind = |row: &Vec<&str>| RowKind::ALL.into_iter().find(|kind| kind.short() == row[0]).unwrap();
    let second: ArrayRef = match timed {
        true => Arc::new(values.reinterpret_cast::<TimestampMillisecondType>()),
        false => Arc::new(values),
    };
    let batch = RecordBatch::try_new(schema(timed), vec![Arc::new(keys), second])?;
    Ok(changes(ChangelogBatch::try_new(batch, fields.iter().map(kind).collect())?))
}

/// The output for these elements of the ports.
pub(super) fn output(
    operator: impl Operator + 'static,
    elements: Vec<(usize, StreamElement)>,
) -> Result<Vec<String>> {
    let mut driver = Driver::detached(Box::new(operator), 2, 8192)?;
    let mut lines = vec![];
    for (port, element) in elements {
        driver.input(port, element, 0)?;
        drain(&mut driver, &mut lines)?;
    }
    Ok(lines)
}
