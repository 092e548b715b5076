//! LIKE.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::pattern::Pattern;
use crate::scalar::arguments::{Text, is_text};
use crate::scalar::plain::Plain;

/// `text LIKE pattern [ESCAPE escape]`, planned as `flink_like(text, pattern [, escape])`. `%` is any text, line breaks included, and
/// `_` one character that is no line break. Nothing escapes them without ESCAPE.
pub fn like() -> ScalarUDF {
    Plain::new("flink_like", "<CHARACTER> LIKE <CHARACTER> ESCAPE <CHARACTER>", types, evaluate).udf()
}

pub(super) fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let fits = matches!(args.len(), 2 | 3) && args.iter().all(is_text);
    fits.then(|| (vec![DataType::Utf8; args.len()], DataType::Boolean))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (texts, patterns) = (Text::new(args, 0)?, Text::new(args, 1)?);
    let escapes = if args.args.len() == 3 { Some(Text::new(args, 2)?) } else { None };
    let mut known: Option<(String, Option<String>, Pattern)> = None;
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
                let compiled = Pattern::new(pattern, escape)?;
                &known.insert((pattern.to_owned(), escape.map(str::to_owned), compiled)).2
            }
        };
        Ok(Some(compiled.matches(text)))
    };
    Ok(Arc::new((0..args.number_rows).map(&mut row_matches).collect::<Result<BooleanArray>>()?))
}
