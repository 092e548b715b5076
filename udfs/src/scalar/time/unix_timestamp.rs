//! UNIX_TIMESTAMP of a text.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::instants::session_zone;
use super::legacy_patterns::LegacyPatterns;
use crate::scalar::arguments::{Text, texts_and_ints};
use crate::scalar::plain::Plain;

/// `UNIX_TIMESTAMP(text [, pattern])`: the seconds since the epoch of a time in the session's zone, by default of the form
/// `yyyy-MM-dd HH:mm:ss`. The pattern is one of `SimpleDateFormat` and is read leniently. As in Flink the least BIGINT where
/// the text has another form, and of a time that comes twice the later instant.
pub(super) fn unix_timestamp() -> ScalarUDF {
    Plain::new("unix_timestamp", "UNIX_TIMESTAMP(<CHARACTER>, <CHARACTER>)", types, evaluate).stable().udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    Some((texts_and_ints(args, "t").or_else(|| texts_and_ints(args, "tt"))?, DataType::Int64))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let zone = session_zone(&args.config_options)?;
    let texts = Text::new(args, 0)?;
    let patterns = match args.args.len() {
        1 => Text::Constant(Some("yyyy-MM-dd HH:mm:ss")),
        _ => Text::new(args, 1)?,
    };
    let mut known = LegacyPatterns::default();
    let rows = (0..args.number_rows).map(|row| {
        let (Some(text), Some(pattern)) = (texts.get(row), patterns.get(row)) else { return Ok(None) };
        let millis = known.get(pattern)?.read(text).and_then(|time| {
            let local = time.local.to_millis()?;
            Some(match time.offset {
                Some(offset) => local - offset * 1_000,
                None => zone.to_later_instant(local),
            })
        });
        Ok(Some(millis.map_or(i64::MIN, |millis| millis / 1_000)))
    });
    Ok(Arc::new(rows.collect::<Result<Int64Array>>()?))
}
