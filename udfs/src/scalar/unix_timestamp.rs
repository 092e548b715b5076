//! UNIX_TIMESTAMP of a text.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::arguments::{is_text, strings};
use super::instants::session_zone;
use super::plain::Plain;
use crate::datetime::parse_lenient;

/// `UNIX_TIMESTAMP(text)`: the seconds since the epoch of a time `yyyy-MM-dd HH:mm:ss` in the session's zone. As in
/// Flink the least BIGINT where the text has another form.
pub(super) fn unix_timestamp() -> ScalarUDF {
    Plain::new("unix_timestamp", "UNIX_TIMESTAMP(<CHARACTER>)", types, evaluate).stable().udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [text] if is_text(text) => Some((vec![DataType::Utf8], DataType::Int64)),
        _ => None,
    }
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let zone = session_zone(&args.config_options)?;
    let seconds = |text: &str| {
        let local = parse_lenient(text).and_then(|time| time.to_millis());
        local.map_or(i64::MIN, |local| zone.to_instant(local).div_euclid(1_000))
    };
    let seconds: Int64Array = strings(args, 0)?.iter().map(|text| text.map(seconds)).collect();
    Ok(Arc::new(seconds))
}
