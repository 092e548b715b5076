//! ARRAY_DISTINCT.

use arrow::array::{Array, ArrayRef};
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::equality::Equality;
use super::list_rows::ListRows;
use super::lists::{elements, list, one_list};
use crate::scalar::plain::Plain;

/// `ARRAY_DISTINCT(array)`: the elements without repetitions, in the order in which they first come. NaN is equal to nothing, so it
/// is always kept.
pub(super) fn array_distinct() -> ScalarUDF {
    Plain::new("array_distinct", "ARRAY_DISTINCT(<ARRAY>)", one_list, evaluate).udf()
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let lists = list(args, 0)?;
    let values = Equality::new(lists.values().data_type())?.comparable(lists.values())?;
    let mut result = ListRows::with_capacity(args.number_rows, lists.values().len());
    for row in 0..args.number_rows {
        let Some(elements) = elements(&lists, row) else {
            result.null();
            continue;
        };
        for element in elements {
            if !result.current().iter().any(|(_, known)| values.equals(*known, &values, element)) {
                result.pick(0, element);
            }
        }
        result.end()?;
    }
    result.finish(args.return_type(), &[lists.values().as_ref()])
}
