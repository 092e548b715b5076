//! CARDINALITY.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::lists::element_type;
use crate::scalar::arguments::array;
use crate::scalar::plain::Plain;

/// `CARDINALITY(x)`: the number of elements of an array, or entries of a map, or different elements of a multiset.
pub(super) fn cardinality() -> ScalarUDF {
    Plain::new("cardinality", "CARDINALITY({<ARRAY> | <MAP> | <MULTISET>})", types, evaluate).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [value] if element_type(value).is_some() || matches!(value, DataType::Map(_, _)) => {
            Some((args.to_vec(), DataType::Int32))
        }
        _ => None,
    }
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let values = array(args, 0)?;
    let row = |row: usize| {
        if values.is_null(row) {
            return None;
        }
        Some(match values.data_type() {
            DataType::Map(_, _) => values.as_map().value_length(row),
            DataType::LargeList(_) => values.as_list::<i64>().value_length(row) as i32,
            DataType::FixedSizeList(_, length) => *length,
            _ => values.as_list::<i32>().value_length(row),
        })
    };
    Ok(Arc::new((0..args.number_rows).map(row).collect::<Int32Array>()))
}
