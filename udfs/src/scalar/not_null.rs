//! Values that Flink says are never NULL.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use datafusion_common::{Result, exec_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::arguments::{array, constant_text, is_text};
use super::plain::{Nullable, Plain};

/// A column of a result that Flink's types say is NOT NULL, although its expression may be NULL, planned as
/// `flink_not_null(value, 'column')`. As in Flink a NULL is an error.
pub fn not_null() -> ScalarUDF {
    Plain::new("flink_not_null", "a column that is NOT NULL", types, evaluate).nullable(Nullable::Never).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [value, column] if is_text(column) => Some((vec![value.clone(), DataType::Utf8], value.clone())),
        _ => None,
    }
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let values = array(args, 0)?;
    if values.logical_null_count() > 0 {
        let column = constant_text(args, 1).flatten().unwrap_or_default();
        return exec_err!(
            "Column '{column}' is NOT NULL, however, a null value is being written into it: a DECIMAL has too many \
             digits for its type"
        );
    }
    Ok(values)
}
