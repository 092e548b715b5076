//! SIMILAR TO.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use datafusion_common::{Result, exec_datafusion_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::like_predicate::types;
use super::similar_pattern::regular_expression;
use crate::scalar::arguments::Text;
use crate::scalar::plain::Plain;
use crate::scalar::regex::JavaRegex;

/// `text SIMILAR TO pattern [ESCAPE escape]`, planned as `flink_similar(text, pattern [, escape])`: whether a pattern of the SQL
/// standard matches the whole text. As in Flink a dot is any character.
pub fn similar() -> ScalarUDF {
    Plain::new("flink_similar", "<CHARACTER> SIMILAR TO <CHARACTER> ESCAPE <CHARACTER>", types, evaluate)
        .udf()
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (texts, patterns) = (Text::new(args, 0)?, Text::new(args, 1)?);
    let escapes = if args.args.len() == 3 { Some(Text::new(args, 2)?) } else { None };
    let mut known: Option<(String, Option<String>, JavaRegex)> = None;
    let mut row_matches = |row: usize| {
        let (Some(text), Some(pattern)) = (texts.get(row), patterns.get(row)) else { return Ok(None) };
        let escape = match &escapes {
            Some(escapes) => match escapes.get(row) {
                Some(escape) => Some(escape),
                None => return Ok(None),
            },
            None => None,
        };
        let compiled = match &known {
            Some((text, with, compiled)) if text == pattern && with.as_deref() == escape => compiled,
            _ => {
                let compiled = JavaRegex::new(&regular_expression(pattern, escape)?)
                    .ok_or_else(|| exec_datafusion_err!("Invalid regular expression '{pattern}'"))?;
                &known.insert((pattern.to_owned(), escape.map(str::to_owned), compiled)).2
            }
        };
        Ok(Some(compiled.is_match(text)))
    };
    Ok(Arc::new((0..args.number_rows).map(&mut row_matches).collect::<Result<BooleanArray>>()?))
}
