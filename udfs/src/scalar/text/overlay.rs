//! OVERLAY.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::utf16::{length, push_slice};
use crate::scalar::arguments::{Integer, Text, is_text};
use crate::scalar::plain::{Plain, is_integer};
use crate::scalar::text_rows::write_rows;

/// `OVERLAY(text PLACING new FROM start [FOR count])`: a part of a text replaced, by default as much as the new text
/// is long. Positions are UTF-16 units from 1. As in Flink a start outside of the text changes nothing, and with a count of
/// 0 or less everything behind the start is dropped.
pub(super) fn overlay() -> ScalarUDF {
    let form = "OVERLAY(<CHARACTER> PLACING <CHARACTER> FROM <INTEGER> FOR <INTEGER>)";
    Plain::new("overlay", form, types, evaluate).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let (texts, numbers) = args.split_at_checked(2)?;
    let fits = texts.iter().all(is_text) && matches!(numbers.len(), 1 | 2) && numbers.iter().all(is_integer);
    let mut types = vec![DataType::Utf8; 2];
    types.resize(args.len(), DataType::Int64);
    fits.then_some((types, DataType::Utf8))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (texts, parts, starts) = (Text::new(args, 0)?, Text::new(args, 1)?, Integer::new(args, 2)?);
    let counts = if args.args.len() == 4 { Some(Integer::new(args, 3)?) } else { None };
    let bytes = texts.bytes(args.number_rows) + parts.bytes(args.number_rows);
    write_rows(args.number_rows, bytes, |row, result| {
        let mut write = || {
            let (text, part, start) = (texts.get(row)?, parts.get(row)?, starts.get(row)?);
            let count = match &counts {
                Some(counts) => counts.get(row)? as i32,
                None => length(part) as i32,
            };
            let units = length(text) as i64;
            if start <= 0 || start > units {
                result.push_str(text);
                return Some(());
            }
            push_slice(text, 0, (start - 1) as usize, result);
            result.push_str(part);
            let rest = start + i64::from(count);
            if count > 0 && rest <= units {
                push_slice(text, (rest - 1) as usize, units as usize, result);
            }
            Some(())
        };
        Ok(write())
    })
}
