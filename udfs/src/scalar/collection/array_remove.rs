//! ARRAY_REMOVE.

use arrow::array::{Array, ArrayRef};
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::equality::Equality;
use super::list_rows::ListRows;
use super::lists::{elements, list, list_and_needle};
use crate::scalar::arguments::array;
use crate::scalar::plain::Plain;

/// `ARRAY_REMOVE(array, value)`: an array without the elements that are equal to a value, which may be NULL.
pub(super) fn array_remove() -> ScalarUDF {
    let types = |args: &[_]| {
        let types = list_and_needle(args)?;
        let result = types[0].clone();
        Some((types, result))
    };
    Plain::new("array_remove", "ARRAY_REMOVE(<ARRAY>, <ELEMENT>)", types, evaluate).of_first().udf()
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (lists, needles) = (list(args, 0)?, array(args, 1)?);
    let equality = Equality::new(needles.data_type())?;
    let (values, needles) = (equality.comparable(lists.values())?, equality.comparable(&needles)?);
    let mut result = ListRows::with_capacity(args.number_rows, lists.values().len());
    for row in 0..args.number_rows {
        let Some(elements) = elements(&lists, row) else {
            result.null();
            continue;
        };
        let kept = elements.filter(|element| !values.equals(*element, &needles, row));
        kept.for_each(|element| result.pick(0, element));
        result.end()?;
    }
    result.finish(args.return_type(), &[lists.values().as_ref()])
}
