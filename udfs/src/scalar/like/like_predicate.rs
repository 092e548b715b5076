//! LIKE.

use datafusion_expr::ScalarUDF;

use super::pattern::Pattern;
use super::predicate::{evaluate, types};
use crate::scalar::plain::Plain;

/// `text LIKE pattern [ESCAPE escape]`, planned as `flink_like(text, pattern [, escape])`. `%` is any text, line
/// breaks included, and `_` one character that is no line break. Nothing escapes them without ESCAPE.
pub fn like() -> ScalarUDF {
    Plain::new("flink_like", "<CHARACTER> LIKE <CHARACTER> ESCAPE <CHARACTER>", types, |args| {
        evaluate(args, Pattern::new, |pattern, text| Ok(pattern.matches(text)))
    })
    .udf()
}
