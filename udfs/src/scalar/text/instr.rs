//! INSTR.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array};
use arrow::datatypes::DataType;
use datafusion_common::{Result, exec_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::find::position;
use crate::scalar::arguments::{Integer, Text, texts_and_ints};
use crate::scalar::plain::Plain;

/// `INSTR(text, part [, start [, nth]])`: where the nth occurrence of a part stands, counted in characters from 1, or 0. A
/// negative start counts from the end, and the search goes backwards. `nth` must be positive.
pub(super) fn instr() -> ScalarUDF {
    Plain::new("instr", "INSTR(<CHARACTER>, <CHARACTER>, <INTEGER>, <INTEGER>)", types, evaluate).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let types = ["tt", "tti", "ttii"].iter().find_map(|wanted| texts_and_ints(args, wanted))?;
    Some((types, DataType::Int32))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (texts, parts) = (Text::new(args, 0)?, Text::new(args, 1)?);
    let optional = |index: usize| match index < args.args.len() {
        true => Integer::new(args, index),
        false => Ok(Integer::Constant(Some(1))),
    };
    let (starts, counts) = (optional(2)?, optional(3)?);
    let rows = (0..args.number_rows).map(|row| {
        let arguments = (texts.get(row), parts.get(row), starts.get(row), counts.get(row));
        let (Some(text), Some(part), Some(start), Some(count)) = arguments else { return Ok(None) };
        if count <= 0 {
            return exec_err!("INSTR looks for an occurrence from 1, not {count}");
        }
        let found =
            if start < 0 { backwards(text, part, -start, count) } else { nth(text, part, start, count) };
        Ok(Some(found as i32))
    });
    Ok(Arc::new(rows.collect::<Result<Int32Array>>()?))
}

fn nth(text: &str, part: &str, start: i64, count: i64) -> i64 {
    if start == 0 {
        return 0;
    }
    let mut start = start;
    let mut found = 0;
    for _ in 0..count {
        found = position(text, part, start);
        // the empty part is always found at the first character
        if found == 0 || part.is_empty() {
            return found;
        }
        start = found + 1;
    }
    found
}

/// The search in the reversed text, as Flink does it.
fn backwards(text: &str, part: &str, start: i64, count: i64) -> i64 {
    let reversed = |text: &str| text.chars().rev().collect::<String>();
    match nth(&reversed(text), &reversed(part), start, count) {
        0 => 0,
        found => text.chars().count() as i64 + 2 - found - part.chars().count() as i64,
    }
}
