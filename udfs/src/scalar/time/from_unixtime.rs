//! FROM_UNIXTIME.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::instants::session_zone;
use super::legacy_patterns::LegacyPatterns;
use crate::datetime::LocalDateTime;
use crate::scalar::arguments::{Integer, Text, is_text};
use crate::scalar::plain::{Plain, is_integer};
use crate::scalar::text_rows::write_rows;

/// `FROM_UNIXTIME(seconds [, pattern])`: seconds since the epoch as text in the session's zone, by a pattern of `SimpleDateFormat`; by
/// default `yyyy-MM-dd HH:mm:ss`.
pub(super) fn from_unixtime() -> ScalarUDF {
    Plain::new("from_unixtime", "FROM_UNIXTIME(<INTEGER>, <CHARACTER>)", types, evaluate).stable().udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let types = match args {
        [seconds] if is_integer(seconds) => vec![DataType::Int64],
        [seconds, pattern] if is_integer(seconds) && is_text(pattern) => {
            vec![DataType::Int64, DataType::Utf8]
        }
        _ => return None,
    };
    Some((types, DataType::Utf8))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let zone = session_zone(&args.config_options)?;
    let seconds = Integer::new(args, 0)?;
    let patterns = match args.args.len() {
        1 => Text::Constant(Some("yyyy-MM-dd HH:mm:ss")),
        _ => Text::new(args, 1)?,
    };
    let mut known = LegacyPatterns::default();
    write_rows(args.number_rows, args.number_rows * 20, |row, text| {
        let (Some(seconds), Some(pattern)) = (seconds.get(row), patterns.get(row)) else { return Ok(None) };
        let local = zone.to_local(seconds.wrapping_mul(1_000));
        known.get(pattern)?.print(LocalDateTime::from_millis(local, 0), text);
        Ok(Some(()))
    })
}
