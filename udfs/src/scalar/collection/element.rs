//! ELEMENT.

use arrow::array::{ArrayRef, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::DataType;
use datafusion_common::{Result, exec_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::lists::{element_type, elements, list, list_of};
use crate::scalar::plain::{Nullable, Plain};

/// `ELEMENT(array)`: the only element of an array, NULL if it has none. An error if it has more.
pub(super) fn element() -> ScalarUDF {
    Plain::new("element", "ELEMENT(<ARRAY>)", types, evaluate).nullable(Nullable::Always).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let [list] = args else { return None };
    let element = element_type(list)?;
    Some((vec![list_of(element.clone())], element.clone()))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let lists = list(args, 0)?;
    let row = |row| match elements(&lists, row) {
        Some(elements) if elements.len() > 1 => {
            exec_err!("ELEMENT takes an array of one element, but there is one of {}", elements.len())
        }
        Some(elements) => Ok(elements.map(|element| element as u32).next()),
        None => Ok(None),
    };
    let picked = (0..args.number_rows).map(row).collect::<Result<UInt32Array>>()?;
    Ok(take(lists.values(), &picked, None)?)
}
