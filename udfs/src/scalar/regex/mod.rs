//! REGEXP, REGEXP_COUNT, REGEXP_EXTRACT, REGEXP_EXTRACT_ALL, REGEXP_INSTR, REGEXP_REPLACE and REGEXP_SUBSTR. Their
//! patterns are [Java's](java).

mod engine;
mod java;
mod regexp;
mod regexp_count;
mod regexp_extract;
mod regexp_extract_all;
mod regexp_instr;
mod regexp_replace;
mod regexp_substr;
mod translate;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

pub(super) use java::{JavaRegex, Patterns};

use super::arguments::{Text, is_text};

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![
        regexp::regexp(),
        regexp_count::regexp_count(),
        regexp_extract::regexp_extract(),
        regexp_extract_all::regexp_extract_all(),
        regexp_instr::regexp_instr(),
        regexp_replace::regexp_replace(),
        regexp_substr::regexp_substr(),
    ]
}

/// A text and a pattern.
fn two_texts(args: &[DataType], result: DataType) -> Option<(Vec<DataType>, DataType)> {
    (args.len() == 2 && args.iter().all(is_text)).then(|| (vec![DataType::Utf8; 2], result))
}

/// The value of every row, NULL where text or pattern is, or where the pattern is malformed.
fn rows<T>(
    args: &ScalarFunctionArgs,
    value: impl Fn(&JavaRegex, &str) -> Result<Option<T>>,
) -> Result<Vec<Option<T>>> {
    let (texts, patterns) = (Text::new(args, 0)?, Text::new(args, 1)?);
    let mut known = Patterns::default();
    (0..args.number_rows)
        .map(|row| {
            let (Some(text), Some(pattern)) = (texts.get(row), patterns.get(row)) else { return Ok(None) };
            known.get(pattern).map_or(Ok(None), |regex| value(regex, text))
        })
        .collect()
}

/// The texts that `part` finds in every row; `group` is the index of an argument with the number of a group.
fn parts(args: &ScalarFunctionArgs, group: Option<usize>) -> Result<ArrayRef> {
    use super::arguments::Integer;
    use super::text_rows::write_rows;

    let (texts, patterns) = (Text::new(args, 0)?, Text::new(args, 1)?);
    let groups = match group {
        Some(index) => Integer::new(args, index)?,
        None => Integer::Constant(Some(0)),
    };
    let mut known = Patterns::default();
    write_rows(args.number_rows, texts.bytes(args.number_rows), |row, result| {
        let arguments = (texts.get(row), patterns.get(row), groups.get(row));
        let (Some(text), Some(pattern), Some(group)) = arguments else { return Ok(None) };
        let (Some(regex), Ok(group)) = (known.get(pattern), usize::try_from(group)) else { return Ok(None) };
        let captures = regex.captures(text)?;
        let found = captures.as_ref().and_then(|captures| captures.get(group));
        Ok(found.map(|found| result.push_str(found.as_str())))
    })
}
