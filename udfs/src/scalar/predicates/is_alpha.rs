//! IS_ALPHA.

use datafusion_expr::ScalarUDF;

use super::check::{check, folded, predicate};

/// `IS_ALPHA(text)`: whether there are only letters, of any script. FALSE for NULL, the empty text and numbers. Letters beyond the
/// basic plane do not count, as Java's `char` is half of one.
pub(super) fn is_alpha() -> ScalarUDF {
    predicate(
        "is_alpha",
        "IS_ALPHA(<CHARACTER>)",
        |args| {
            // what is alphabetic and a number, such as the Roman numerals, is no letter in Java
            let letter = |c: char| c.is_alphabetic() && c.len_utf16() == 1 && !c.is_numeric();
            check(args, |text| text.chars().all(letter), |_| false)
        },
        |args, context| folded(args, context, |_| false),
    )
}
