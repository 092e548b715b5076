//! MAP_FROM_ARRAYS.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use datafusion_common::{Result, exec_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::equality::Equality;
use super::lists::{element_type, elements, list, list_of};
use super::maps::{MapRows, map_of};
use crate::scalar::plain::Plain;

/// `MAP_FROM_ARRAYS(keys, values)`: a map of two arrays of the same length; NULL if one of them is. Of a key that comes twice
/// the last value counts. A NULL key, which Arrow's maps do not have, is an error.
pub(super) fn map_from_arrays() -> ScalarUDF {
    Plain::new("map_from_arrays", "MAP_FROM_ARRAYS(<ARRAY>, <ARRAY>)", types, evaluate).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let [keys, values] = args else { return None };
    let (key, value) = (element_type(keys)?, element_type(values)?);
    Some((vec![list_of(key.clone()), list_of(value.clone())], map_of(key.clone(), value.clone())))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (keys, values) = (list(args, 0)?, list(args, 1)?);
    let comparable = Equality::new(keys.values().data_type())?.comparable(keys.values())?;
    let mut result = MapRows::with_capacity(args.number_rows, keys.values().len());
    // the keys and the values of an entry are at different places
    let (mut key_rows, mut value_rows) = (vec![], vec![]);
    for row in 0..args.number_rows {
        let (Some(keys), Some(values)) = (elements(&keys, row), elements(&values, row)) else {
            result.null();
            continue;
        };
        if keys.len() != values.len() {
            return exec_err!(
                "MAP_FROM_ARRAYS takes as many keys as values, not {} and {}",
                keys.len(),
                values.len()
            );
        }
        for (key, value) in keys.zip(values) {
            key_rows.push(key as u32);
            value_rows.push(value as u32);
            let equal = |left: (usize, usize), right: (usize, usize)| {
                comparable.equals(key_rows[left.1] as usize, &comparable, key_rows[right.1] as usize)
            };
            result.put((0, key_rows.len() - 1), equal);
        }
        result.end()?;
    }
    let keys = arrow::compute::take(keys.values(), &arrow::array::UInt32Array::from(key_rows), None)?;
    let values = arrow::compute::take(values.values(), &arrow::array::UInt32Array::from(value_rows), None)?;
    result.finish(args.return_type(), &[keys.as_ref()], &[values.as_ref()])
}
