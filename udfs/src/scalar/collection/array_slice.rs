//! ARRAY_SLICE.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::list_rows::ListRows;
use super::lists::{element_type, elements, list, list_of};
use crate::scalar::arguments::{Integer, is_int};
use crate::scalar::plain::Plain;

/// `ARRAY_SLICE(array, first [, last])`: the elements from one position to another, both counted from 1 or, negative, from the end. A
/// first position before the array is its start, a last one behind it its end, and a last one of 0 the first element.
pub(super) fn array_slice() -> ScalarUDF {
    Plain::new("array_slice", "ARRAY_SLICE(<ARRAY>, <INTEGER>, <INTEGER>)", types, evaluate).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let (list, positions) = args.split_first()?;
    let list = list_of(element_type(list)?.clone());
    let fits = matches!(positions.len(), 1 | 2) && positions.iter().all(is_int);
    let mut types = vec![list.clone()];
    types.resize(args.len(), DataType::Int32);
    fits.then_some((types, list))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (lists, firsts) = (list(args, 0)?, Integer::new(args, 1)?);
    let lasts = if args.args.len() == 3 { Integer::new(args, 2)? } else { Integer::Constant(Some(-1)) };
    let mut result = ListRows::with_capacity(args.number_rows, lists.values().len());
    for row in 0..args.number_rows {
        let arguments = (elements(&lists, row), firsts.get(row), lasts.get(row));
        let (Some(elements), Some(first), Some(last)) = arguments else {
            result.null();
            continue;
        };
        let length = elements.len() as i64;
        if length > 0 {
            let from_start = |position: i64| if position < 0 { position + length + 1 } else { position };
            let first = from_start(first).max(1);
            let last = match from_start(last) {
                0 => 1,
                last => last.min(length),
            };
            (first..=last).for_each(|position| result.pick(0, elements.start + (position - 1) as usize));
        }
        result.end()?;
    }
    result.finish(args.return_type(), &[lists.values().as_ref()])
}
