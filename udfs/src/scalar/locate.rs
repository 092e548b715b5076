//! LOCATE and POSITION.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type};
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::arguments::{array, is_text, strings};
use super::plain::{Plain, is_integer};

/// `LOCATE(part, text [, from])` and `POSITION(part IN text)`: where a part first stands in a text, counted
/// in characters from 1; 0 if nowhere.
pub(super) fn locate() -> ScalarUDF {
    Plain::new("locate", "LOCATE(<CHARACTER>, <CHARACTER>)", types, evaluate).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [part, text] if is_text(part) && is_text(text) => Some((vec![DataType::Utf8; 2], DataType::Int32)),
        [part, text, from] if is_text(part) && is_text(text) && is_integer(from) => {
            Some((vec![DataType::Utf8, DataType::Utf8, DataType::Int32], DataType::Int32))
        }
        _ => None,
    }
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (parts, texts) = (strings(args, 0)?, strings(args, 1)?);
    let starts = match args.args.len() {
        3 => Some(cast(&array(args, 2)?, &DataType::Int32)?),
        _ => None,
    };
    let starts = starts.as_ref().map(|starts| starts.as_primitive::<Int32Type>());
    let positions: Int32Array = parts
        .iter()
        .zip(&texts)
        .enumerate()
        .map(|(row, (part, text))| {
            let start = match starts {
                Some(starts) => starts.is_valid(row).then(|| starts.value(row))?,
                None => 1,
            };
            Some(position(part?, text?, start))
        })
        .collect();
    Ok(Arc::new(positions))
}

fn position(part: &str, text: &str, start: i32) -> i32 {
    let Some(skipped) = start.checked_sub(1).and_then(|skipped| usize::try_from(skipped).ok()) else {
        return 0;
    };
    let begin = match text.char_indices().nth(skipped) {
        Some((begin, _)) => begin,
        None if skipped == text.chars().count() => text.len(),
        None => return 0,
    };
    match text[begin..].find(part) {
        Some(found) => (skipped + text[begin..begin + found].chars().count() + 1) as i32,
        None => 0,
    }
}
