//! ARRAY_CONTAINS.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::equality::Equality;
use super::lists::{elements, list, list_and_needle};
use crate::scalar::arguments::array;
use crate::scalar::plain::Plain;

/// `ARRAY_CONTAINS(array, value)`: whether a value, which may be NULL, is an element.
pub(super) fn array_contains() -> ScalarUDF {
    let form = "ARRAY_CONTAINS(<ARRAY>, <ELEMENT>)";
    Plain::new("array_contains", form, |args| Some((list_and_needle(args)?, DataType::Boolean)), evaluate)
        .of_first()
        .udf()
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (lists, needles) = (list(args, 0)?, array(args, 1)?);
    let equality = Equality::new(needles.data_type())?;
    let (values, needles) = (equality.comparable(lists.values())?, equality.comparable(&needles)?);
    let row = |row| Some(elements(&lists, row)?.any(|element| values.equals(element, &needles, row)));
    Ok(Arc::new((0..args.number_rows).map(row).collect::<BooleanArray>()))
}
