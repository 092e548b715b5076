//! PRINTF.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::format::{Value, format};
use crate::scalar::arguments::{Text, array, is_text};
use crate::scalar::math::is_numeric;
use crate::scalar::plain::{Nullable, Plain};
use crate::scalar::text_rows::write_rows;

/// `PRINTF(format, value, …)`: values in a format of Java's `java.util.Formatter`, for texts, numbers and BOOLEANs. NULL if the
/// format is malformed or does not fit its values; a value that is NULL is written as `null`.
///
/// Without hexadecimal floating numbers (`%a`), hash codes (`%h`) and dates (`%t`): these give NULL.
pub(super) fn printf() -> ScalarUDF {
    Plain::new("printf", "PRINTF(<CHARACTER>, <ANY>…)", types, evaluate).nullable(Nullable::Always).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let (format, values) = args.split_first()?;
    let known = |value: &DataType| is_text(value) || is_numeric(value) || value == &DataType::Boolean;
    let types = args.iter().map(|arg| if is_text(arg) { DataType::Utf8 } else { arg.clone() });
    (is_text(format) && values.iter().all(known)).then(|| (types.collect(), DataType::Utf8))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let formats = Text::new(args, 0)?;
    let columns = (1..args.args.len()).map(|index| array(args, index)).collect::<Result<Vec<_>>>()?;
    let mut values = Vec::with_capacity(columns.len());
    write_rows(args.number_rows, formats.bytes(args.number_rows), |row, result| {
        values.clear();
        values.extend(columns.iter().map(|column| value(column, row)));
        Ok(formats.get(row).and_then(|text| format(text, &values, result)))
    })
}

fn value(column: &Arc<dyn Array>, row: usize) -> Value<'_> {
    if column.is_null(row) {
        return Value::Null;
    }
    match column.data_type() {
        DataType::Boolean => Value::Boolean(column.as_boolean().value(row)),
        DataType::Int8 => Value::Integer(column.as_primitive::<Int8Type>().value(row).into(), 8),
        DataType::Int16 => Value::Integer(column.as_primitive::<Int16Type>().value(row).into(), 16),
        DataType::Int32 => Value::Integer(column.as_primitive::<Int32Type>().value(row).into(), 32),
        DataType::Int64 => Value::Integer(column.as_primitive::<Int64Type>().value(row), 64),
        DataType::Float32 => Value::Double(column.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => Value::Double(column.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(_, _) => {
            Value::Decimal(column.as_primitive::<Decimal128Type>().value_as_string(row))
        }
        DataType::Utf8 => Value::Text(column.as_string::<i32>().value(row)),
        _ => Value::Null,
    }
}
