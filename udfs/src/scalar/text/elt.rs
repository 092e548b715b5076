//! ELT.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::compute::interleave;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use crate::scalar::arguments::{Integer, array, is_bytes, is_text};
use crate::scalar::plain::{Nullable, Plain, is_integer};

/// `ELT(index, a, b, …)`: the text or BYTES at an index from 1; NULL if there is none.
pub(super) fn elt() -> ScalarUDF {
    let form = "ELT(<INTEGER>, {<CHARACTER>, <CHARACTER>… | <BYTES>, <BYTES>…})";
    Plain::new("elt", form, types, evaluate).nullable(Nullable::Always).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let (index, values) = args.split_first()?;
    let value = if values.iter().all(is_text) {
        DataType::Utf8
    } else if values.iter().all(|value| is_bytes(value) || value.is_null()) {
        DataType::Binary
    } else {
        return None;
    };
    let mut types = vec![value.clone(); args.len()];
    types[0] = DataType::Int64;
    (is_integer(index) && !values.is_empty()).then_some((types, value))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let indexes = Integer::new(args, 0)?;
    let mut values = vec![new_null_array(args.return_type(), 1)];
    for index in 1..args.args.len() {
        values.push(array(args, index)?);
    }
    let pick = |row: usize| match indexes.get(row).and_then(|index| usize::try_from(index).ok()) {
        Some(index) if (1..values.len()).contains(&index) => (index, row),
        _ => (0, 0),
    };
    let picked: Vec<_> = (0..args.number_rows).map(pick).collect();
    let values: Vec<&dyn Array> = values.iter().map(Arc::as_ref).collect();
    Ok(interleave(&values, &picked)?)
}
