//! LIKE and SIMILAR TO, which are planned as functions.

mod like_predicate;
mod pattern;
mod predicate;
mod similar_pattern;
mod similar_predicate;

use datafusion_common::DataFusionError;
use datafusion_common::Result;
use datafusion_common::exec_datafusion_err;
use datafusion_common::exec_err;
use datafusion_expr::ScalarUDF;

pub use like_predicate::like;
pub use similar_predicate::similar;

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![like(), similar()]
}

/// The character of an ESCAPE.
fn escape_character(escape: &str) -> Result<char> {
    let mut characters = escape.chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Ok(character),
        _ => exec_err!("Invalid escape character '{escape}'"),
    }
}

fn invalid_escape(pattern: &str, at: usize) -> DataFusionError {
    exec_datafusion_err!("Invalid escape sequence '{pattern}', {at}")
}
