//! ARRAY_PREPEND.

use datafusion_expr::ScalarUDF;

use super::extend::extend;
use super::lists::list_and_element;
use crate::scalar::plain::Plain;

/// `ARRAY_PREPEND(array, value)`: an array with a value, which may be NULL, in front of its elements. NULL for a NULL array.
pub(super) fn array_prepend() -> ScalarUDF {
    Plain::new("array_prepend", "ARRAY_PREPEND(<ARRAY>, <ELEMENT>)", list_and_element, |args| {
        extend(args, true)
    })
    .of_first()
    .udf()
}
