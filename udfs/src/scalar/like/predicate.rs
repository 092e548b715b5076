//! What LIKE and SIMILAR TO share: a pattern for each row, with or without an escape.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::ScalarFunctionArgs;

use crate::scalar::arguments::{Text, is_text};

/// The types of `(text, pattern [, escape])`.
pub(super) fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let fits = matches!(args.len(), 2 | 3) && args.iter().all(is_text);
    fits.then(|| (vec![DataType::Utf8; args.len()], DataType::Boolean))
}

/// Whether the pattern of each row, made by `compile` of it and its escape, matches the row's text. A pattern is
/// compiled once as long as it stays the same.
pub(super) fn evaluate<P>(
    args: &ScalarFunctionArgs,
    compile: impl Fn(&str, Option<&str>) -> Result<P>,
    matches: impl Fn(&P, &str) -> Result<bool>,
) -> Result<ArrayRef> {
    let (texts, patterns) = (Text::new(args, 0)?, Text::new(args, 1)?);
    let escapes = if args.args.len() == 3 { Some(Text::new(args, 2)?) } else { None };
    let mut known: Option<(String, Option<String>, P)> = None;
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
                let compiled = compile(pattern, escape)?;
                &known.insert((pattern.to_owned(), escape.map(str::to_owned), compiled)).2
            }
        };
        matches(compiled, text).map(Some)
    };
    Ok(Arc::new((0..args.number_rows).map(&mut row_matches).collect::<Result<BooleanArray>>()?))
}
