//! ARRAY_POSITION.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int32Array};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::equality::Equality;
use super::lists::{elements, list, list_and_needle};
use crate::scalar::arguments::array;
use crate::scalar::plain::Plain;

/// `ARRAY_POSITION(array, value)`: where a value first is among the elements, from 1, or 0. NULL for a NULL value.
pub(super) fn array_position() -> ScalarUDF {
    let form = "ARRAY_POSITION(<ARRAY>, <ELEMENT>)";
    Plain::new("array_position", form, |args| Some((list_and_needle(args)?, DataType::Int32)), evaluate).udf()
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (lists, needles) = (list(args, 0)?, array(args, 1)?);
    let equality = Equality::new(needles.data_type())?;
    let (values, comparable) = (equality.comparable(lists.values())?, equality.comparable(&needles)?);
    let row = |row| {
        let mut elements = elements(&lists, row).filter(|_| needles.is_valid(row))?;
        Some(
            elements
                .position(|element| values.equals(element, &comparable, row))
                .map_or(0, |at| at as i32 + 1),
        )
    };
    Ok(Arc::new((0..args.number_rows).map(row).collect::<Int32Array>()))
}
