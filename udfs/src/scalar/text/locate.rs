//! LOCATE and POSITION.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::find::position;
use crate::scalar::arguments::{Integer, Text, texts_and_ints};
use crate::scalar::plain::Plain;

/// `LOCATE(part, text [, from])` and `POSITION(part IN text [FROM from])`: where a part first stands in a text, counted
/// in characters from 1; 0 if nowhere.
pub(super) fn locate() -> ScalarUDF {
    Plain::new("locate", "LOCATE(<CHARACTER>, <CHARACTER>, <INTEGER>)", types, evaluate).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let types = texts_and_ints(args, "tt").or_else(|| texts_and_ints(args, "tti"))?;
    Some((types, DataType::Int32))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (parts, texts) = (Text::new(args, 0)?, Text::new(args, 1)?);
    let starts = if args.args.len() == 3 { Integer::new(args, 2)? } else { Integer::Constant(Some(1)) };
    let rows = (0..args.number_rows)
        .map(|row| Some(position(texts.get(row)?, parts.get(row)?, starts.get(row)?) as i32));
    Ok(Arc::new(rows.collect::<Int32Array>()))
}
