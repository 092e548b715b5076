//! SIMILAR TO.

use datafusion_common::{Result, exec_datafusion_err};
use datafusion_expr::ScalarUDF;

use super::predicate::{evaluate, types};
use super::similar_pattern::regular_expression;
use crate::scalar::plain::Plain;
use crate::scalar::regex::JavaRegex;

/// `text SIMILAR TO pattern [ESCAPE escape]`, planned as `flink_similar(text, pattern [, escape])`: whether a pattern
/// of the SQL standard matches the whole text. As in Flink a dot is any character.
pub fn similar() -> ScalarUDF {
    Plain::new("flink_similar", "<CHARACTER> SIMILAR TO <CHARACTER> ESCAPE <CHARACTER>", types, |args| {
        evaluate(args, regex, JavaRegex::is_match)
    })
    .udf()
}

fn regex(pattern: &str, escape: Option<&str>) -> Result<JavaRegex> {
    JavaRegex::new(&regular_expression(pattern, escape)?)
        .ok_or_else(|| exec_datafusion_err!("Invalid regular expression '{pattern}'"))
}
