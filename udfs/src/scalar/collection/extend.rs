//! What ARRAY_APPEND and ARRAY_PREPEND share.

use arrow::array::{Array, ArrayRef};
use datafusion_common::Result;
use datafusion_expr::ScalarFunctionArgs;

use super::list_rows::ListRows;
use super::lists::{elements, list};
use crate::scalar::arguments::array;

/// Arrays with one more element.
pub(super) fn extend(args: &ScalarFunctionArgs, in_front: bool) -> Result<ArrayRef> {
    let (lists, values) = (list(args, 0)?, array(args, 1)?);
    let mut result = ListRows::with_capacity(args.number_rows, lists.values().len() + args.number_rows);
    for row in 0..args.number_rows {
        let Some(elements) = elements(&lists, row) else {
            result.null();
            continue;
        };
        if in_front {
            result.pick(1, row);
        }
        elements.for_each(|element| result.pick(0, element));
        if !in_front {
            result.pick(1, row);
        }
        result.end()?;
    }
    result.finish(args.return_type(), &[lists.values().as_ref(), values.as_ref()])
}
