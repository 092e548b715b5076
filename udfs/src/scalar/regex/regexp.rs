//! REGEXP.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::{Patterns, two_texts};
use crate::scalar::arguments::Text;
use crate::scalar::plain::Plain;

/// `REGEXP(text, pattern)`: whether the pattern is found. FALSE for an empty or malformed pattern, and for the empty
/// text, as in Flink.
pub(super) fn regexp() -> ScalarUDF {
    Plain::new(
        "regexp",
        "REGEXP(<CHARACTER>, <CHARACTER>)",
        |args| two_texts(args, DataType::Boolean),
        evaluate,
    )
    .udf()
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (texts, patterns) = (Text::new(args, 0)?, Text::new(args, 1)?);
    let mut known = Patterns::default();
    let rows = (0..args.number_rows).map(|row| {
        let (Some(text), Some(pattern)) = (texts.get(row), patterns.get(row)) else { return Ok(None) };
        if text.is_empty() || pattern.is_empty() {
            return Ok(Some(false));
        }
        known.get(pattern).map_or(Ok(Some(false)), |regex| regex.is_match(text).map(Some))
    });
    Ok(Arc::new(rows.collect::<Result<BooleanArray>>()?))
}
