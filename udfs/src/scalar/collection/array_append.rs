//! ARRAY_APPEND.

use datafusion_expr::ScalarUDF;

use super::extend::extend;
use super::lists::list_and_element;
use crate::scalar::plain::Plain;

/// `ARRAY_APPEND(array, value)`: an array with a value, which may be NULL, behind its elements. NULL for a NULL array.
pub(super) fn array_append() -> ScalarUDF {
    Plain::new("array_append", "ARRAY_APPEND(<ARRAY>, <ELEMENT>)", list_and_element, |args| {
        extend(args, false)
    })
    .of_first()
    .udf()
}
