//! Access to an element of an array or a value of a map.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::equality::Equality;
use super::lists::{element_type, elements, list, list_of};
use super::maps::{entries, key_and_value};
use crate::common_type::is_widened_to;
use crate::scalar::arguments::{Integer, array};
use crate::scalar::plain::{Nullable, Plain, is_integer};

/// `array[index]` and `map[key]`, planned as `flink_item(x, key)`: the element at an index from 1, or the value of a key; NULL if
/// there is none.
pub fn item() -> ScalarUDF {
    Plain::new("flink_item", "{<ARRAY>[<INTEGER>] | <MAP>[<KEY>]}", types, evaluate)
        .nullable(Nullable::Always)
        .udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let [values, key] = args else { return None };
    if let Some(element) = element_type(values) {
        let types = vec![list_of(element.clone()), DataType::Int64];
        return is_integer(key).then(|| (types, element.clone()));
    }
    let (key_type, value_type) = key_and_value(values)?;
    is_widened_to(key, key_type).then(|| (vec![values.clone(), key_type.clone()], value_type.clone()))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let values = array(args, 0)?;
    if !matches!(values.data_type(), DataType::Map(_, _)) {
        let (lists, indexes) = (list(args, 0)?, Integer::new(args, 1)?);
        let row = |row| {
            let mut elements = elements(&lists, row)?;
            elements.nth(usize::try_from(indexes.get(row)? - 1).ok()?).map(|element| element as u32)
        };
        let picked: UInt32Array = (0..args.number_rows).map(row).collect();
        return Ok(take(lists.values(), &picked, None)?);
    }
    let (maps, wanted) = (values.as_map(), array(args, 1)?);
    let equality = Equality::new(maps.keys().data_type())?;
    let (keys, comparable) = (equality.comparable(maps.keys())?, equality.comparable(&wanted)?);
    let row = |row| {
        let mut entries = entries(maps, row).filter(|_| wanted.is_valid(row))?;
        entries.rfind(|entry| keys.equals(*entry, &comparable, row)).map(|entry| entry as u32)
    };
    let picked: UInt32Array = (0..args.number_rows).map(row).collect();
    Ok(take(&Arc::clone(maps.values()), &picked, None)?)
}
