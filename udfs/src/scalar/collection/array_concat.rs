//! ARRAY_CONCAT.

use arrow::array::{Array, ArrayRef};
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::list_rows::ListRows;
use super::lists::{elements, list, lists_of_one_type};
use crate::scalar::plain::Plain;

/// `ARRAY_CONCAT(array, …)`: the elements of several arrays; NULL if one of the arrays is.
pub(super) fn array_concat() -> ScalarUDF {
    Plain::new("array_concat", "ARRAY_CONCAT(<ARRAY>, …)", lists_of_one_type, evaluate).udf()
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let lists = (0..args.args.len()).map(|index| list(args, index)).collect::<Result<Vec<_>>>()?;
    let mut result =
        ListRows::with_capacity(args.number_rows, lists.iter().map(|list| list.values().len()).sum());
    for row in 0..args.number_rows {
        if lists.iter().any(|list| list.is_null(row)) {
            result.null();
            continue;
        }
        for (source, list) in lists.iter().enumerate() {
            elements(list, row).into_iter().flatten().for_each(|element| result.pick(source, element));
        }
        result.end()?;
    }
    let sources: Vec<&dyn Array> = lists.iter().map(|list| list.values().as_ref()).collect();
    result.finish(args.return_type(), &sources)
}
