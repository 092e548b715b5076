//! TO_DATE.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::legacy_patterns::LegacyPatterns;
use crate::datetime::parse_date;
use crate::scalar::arguments::{Text, texts_and_ints};
use crate::scalar::plain::{Nullable, Plain};

/// `TO_DATE(text [, pattern])`: a DATE of the form `y-M-d`, or by a pattern of `SimpleDateFormat`, which is read leniently. NULL where
/// the text has another form. (With a pattern Flink gives a day of the year -292275055 there.)
pub(super) fn to_date() -> ScalarUDF {
    Plain::new("to_date", "TO_DATE(<CHARACTER>, <CHARACTER>)", types, evaluate)
        .nullable(Nullable::Always)
        .udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    Some((texts_and_ints(args, "t").or_else(|| texts_and_ints(args, "tt"))?, DataType::Date32))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let texts = Text::new(args, 0)?;
    let patterns = if args.args.len() == 2 { Some(Text::new(args, 1)?) } else { None };
    let mut known = LegacyPatterns::default();
    let rows = (0..args.number_rows).map(|row| {
        let Some(text) = texts.get(row) else { return Ok(None) };
        let days = match &patterns {
            None => parse_date(text).map(|date| date.to_days()),
            Some(patterns) => match patterns.get(row) {
                Some(pattern) => known.get(pattern)?.read(text).map(|time| time.local.days),
                None => None,
            },
        };
        Ok(days.and_then(|days| i32::try_from(days).ok()))
    });
    Ok(Arc::new(rows.collect::<Result<Date32Array>>()?))
}
