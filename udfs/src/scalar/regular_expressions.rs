//! REGEXP, REGEXP_EXTRACT, REGEXP_SUBSTR, REGEXP_COUNT, REGEXP_INSTR and REGEXP_REPLACE.
//!
//! Patterns are those of the crate `regex`: Java's except for look-around and references to groups, which it does not
//! have; such a pattern counts as malformed.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int32Array, StringArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type};
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};
use regex::{NoExpand, Regex};

use super::arguments::{array, is_text, strings};
use super::plain::{Nullable, Plain, is_integer};

/// The functions on regular expressions.
pub(super) fn regular_expressions() -> Vec<ScalarUDF> {
    vec![
        Plain::new(
            "regexp",
            "REGEXP(<CHARACTER>, <CHARACTER>)",
            |args| two_texts(args, DataType::Boolean),
            matches,
        )
        .udf(),
        Plain::new(
            "regexp_extract",
            "REGEXP_EXTRACT(<CHARACTER>, <CHARACTER>, <INTEGER>)",
            extract_types,
            extract,
        )
        .nullable(Nullable::Always)
        .udf(),
        Plain::new(
            "regexp_substr",
            "REGEXP_SUBSTR(<CHARACTER>, <CHARACTER>)",
            |args| two_texts(args, DataType::Utf8),
            extract,
        )
        .nullable(Nullable::Always)
        .udf(),
        Plain::new(
            "regexp_count",
            "REGEXP_COUNT(<CHARACTER>, <CHARACTER>)",
            |args| two_texts(args, DataType::Int32),
            |args| numbers(args, |regex, text| regex.find_iter(text).count()),
        )
        .nullable(Nullable::Always)
        .udf(),
        Plain::new(
            "regexp_instr",
            "REGEXP_INSTR(<CHARACTER>, <CHARACTER>)",
            |args| two_texts(args, DataType::Int32),
            |args| {
                numbers(args, |regex, text| {
                    regex.find(text).map_or(0, |found| text[..found.start()].chars().count() + 1)
                })
            },
        )
        .nullable(Nullable::Always)
        .udf(),
        Plain::new(
            "regexp_replace",
            "REGEXP_REPLACE(<CHARACTER>, <CHARACTER>, <CHARACTER>)",
            replace_types,
            replace,
        )
        .nullable(Nullable::Always)
        .udf(),
    ]
}

fn two_texts(args: &[DataType], result: DataType) -> Option<(Vec<DataType>, DataType)> {
    (args.len() == 2 && args.iter().all(is_text)).then(|| (vec![DataType::Utf8; 2], result))
}

fn extract_types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [text, pattern, group] if is_text(text) && is_text(pattern) && is_integer(group) => {
            Some((vec![DataType::Utf8, DataType::Utf8, DataType::Int32], DataType::Utf8))
        }
        _ => two_texts(args, DataType::Utf8),
    }
}

fn replace_types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    (args.len() == 3 && args.iter().all(is_text)).then(|| (vec![DataType::Utf8; 3], DataType::Utf8))
}

/// A pattern, read once as long as it stays the same.
#[derive(Default)]
struct Patterns {
    known: Option<(String, Option<Regex>)>,
}

impl Patterns {
    fn get(&mut self, pattern: &str) -> Option<&Regex> {
        if self.known.as_ref().is_none_or(|(known, _)| known != pattern) {
            self.known = Some((pattern.to_owned(), Regex::new(pattern).ok()));
        }
        self.known.as_ref().and_then(|(_, regex)| regex.as_ref())
    }
}

fn pairs(args: &ScalarFunctionArgs) -> Result<(StringArray, StringArray)> {
    Ok((strings(args, 0)?, strings(args, 1)?))
}

/// Whether the pattern is found; FALSE for an empty text or pattern, as in Flink.
fn matches(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (texts, patterns) = pairs(args)?;
    let mut known = Patterns::default();
    let found: BooleanArray = texts
        .iter()
        .zip(&patterns)
        .map(|(text, pattern)| {
            let (text, pattern) = (text?, pattern?);
            let empty = text.is_empty() || pattern.is_empty();
            Some(!empty && known.get(pattern).is_some_and(|regex| regex.is_match(text)))
        })
        .collect();
    Ok(Arc::new(found))
}

fn numbers(args: &ScalarFunctionArgs, number: impl Fn(&Regex, &str) -> usize) -> Result<ArrayRef> {
    let (texts, patterns) = pairs(args)?;
    let mut known = Patterns::default();
    let numbers: Int32Array = texts
        .iter()
        .zip(&patterns)
        .map(|(text, pattern)| i32::try_from(number(known.get(pattern?)?, text?)).ok())
        .collect();
    Ok(Arc::new(numbers))
}

/// A group of the first match, the whole match without a group.
fn extract(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (texts, patterns) = pairs(args)?;
    let groups = match args.args.len() {
        3 => cast(&array(args, 2)?, &DataType::Int32)?,
        _ => Arc::new(Int32Array::from(vec![0; args.number_rows])),
    };
    let groups = groups.as_primitive::<Int32Type>();
    let mut known = Patterns::default();
    let mut result = StringBuilder::with_capacity(texts.len(), texts.value_data().len());
    for row in 0..texts.len() {
        let valid = texts.is_valid(row) && patterns.is_valid(row) && groups.is_valid(row);
        let group = usize::try_from(if valid { groups.value(row) } else { -1 }).ok();
        let found = group.and_then(|group| {
            known.get(patterns.value(row))?.captures(texts.value(row))?.get(group).map(|found| found.as_str())
        });
        result.append_option(found);
    }
    Ok(Arc::new(result.finish()))
}

/// All matches replaced by a text, in which `$1` has no meaning.
fn replace(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (texts, patterns) = pairs(args)?;
    let replacements = strings(args, 2)?;
    let mut known = Patterns::default();
    let mut result = StringBuilder::with_capacity(texts.len(), texts.value_data().len());
    for ((text, pattern), replacement) in texts.iter().zip(&patterns).zip(&replacements) {
        match (text, pattern.and_then(|pattern| known.get(pattern)), replacement) {
            (Some(text), Some(regex), Some(replacement)) => {
                result.append_value(regex.replace_all(text, NoExpand(replacement)));
            }
            _ => result.append_null(),
        }
    }
    Ok(Arc::new(result.finish()))
}
