//! TO_TIMESTAMP_LTZ.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, TimestampMillisecondArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, TimeUnit};
use datafusion_common::{Result, exec_datafusion_err, plan_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use crate::datetime::{LocalZone, Pattern, parse_sql_timestamp, parse_timestamp};
use crate::scalar::arguments::{array, is_text, strings};
use crate::scalar::plain::{Nullable, Plain, is_integer, is_number};

/// `TO_TIMESTAMP_LTZ(number [, 0 | 3])` of seconds or milliseconds since the epoch, NULL beyond the years 0 to 9999;
/// `TO_TIMESTAMP_LTZ(text [, pattern [, zone]])` of a time in UTC or in a zone.
pub(super) fn to_timestamp_ltz() -> ScalarUDF {
    Plain::new("to_timestamp_ltz", "TO_TIMESTAMP_LTZ(<NUMERIC>, <INTEGER>)", types, evaluate)
        .nullable(Nullable::Always)
        .udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let result = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    let args = match args {
        [number] if is_number(number) => vec![read_as(number)],
        [number, precision] if is_number(number) && is_integer(precision) => {
            vec![read_as(number), DataType::Int64]
        }
        [_, ..] if args.len() <= 3 && args.iter().all(is_text) => vec![DataType::Utf8; args.len()],
        _ => return None,
    };
    Some((args, result))
}

fn read_as(number: &DataType) -> DataType {
    if matches!(number, DataType::Float32 | DataType::Float64) { DataType::Float64 } else { DataType::Int64 }
}

/// The first instant of the year 0 and the last of 9999, in milliseconds.
const RANGE: std::ops::RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let first = array(args, 0)?;
    let millis: TimestampMillisecondArray = if is_text(first.data_type()) {
        let texts = strings(args, 0)?;
        match args.args.len() {
            1 => {
                let parse = |text: &str| {
                    parse_timestamp(text).and_then(|time| time.to_millis()).ok_or_else(|| {
                        exec_datafusion_err!("TO_TIMESTAMP_LTZ cannot read '{text}' as a time")
                    })
                };
                texts.iter().map(|text| text.map(parse).transpose()).collect::<Result<_>>()?
            }
            _ => by_pattern(args)?,
        }
    } else {
        let seconds = match args.args.len() {
            1 => false,
            _ => seconds(args)?,
        };
        match first.data_type() {
            DataType::Float64 => {
                let factor = if seconds { 1_000.0 } else { 1.0 };
                first
                    .as_primitive::<Float64Type>()
                    .iter()
                    .map(|value| in_range((value? * factor) as i64))
                    .collect()
            }
            _ => {
                let factor = if seconds { 1_000 } else { 1 };
                let values = cast(&first, &DataType::Int64)?;
                let values = values.as_primitive::<Int64Type>();
                values.iter().map(|value| value?.checked_mul(factor).and_then(in_range)).collect()
            }
        }
    };
    Ok(Arc::new(millis.with_timezone("UTC")))
}

fn in_range(millis: i64) -> Option<i64> {
    RANGE.contains(&millis).then_some(millis)
}

/// Whether the precision says seconds.
fn seconds(args: &ScalarFunctionArgs) -> Result<bool> {
    let precisions = cast(&array(args, 1)?, &DataType::Int64)?;
    let precisions: &Int64Array = precisions.as_primitive::<Int64Type>();
    match precisions.iter().flatten().find(|precision| !matches!(precision, 0 | 3)) {
        Some(precision) => plan_err!(
            "The precision value '{precision}' for function TO_TIMESTAMP_LTZ(numeric, precision) is unsupported, \
             the supported value is '0' for second or '3' for millisecond."
        ),
        None => Ok(precisions.iter().flatten().next() == Some(0)),
    }
}

fn by_pattern(args: &ScalarFunctionArgs) -> Result<TimestampMillisecondArray> {
    let (texts, patterns) = (strings(args, 0)?, strings(args, 1)?);
    let zones = if args.args.len() == 3 { Some(strings(args, 2)?) } else { None };
    let mut known: Option<(String, Option<Pattern>)> = None;
    let millis = (0..texts.len()).map(|row| {
        if texts.is_null(row) || patterns.is_null(row) {
            return None;
        }
        let (text, pattern) = (texts.value(row), patterns.value(row));
        let zone = match &zones {
            Some(zones) if zones.is_null(row) => return None,
            Some(zones) => LocalZone::parse(zones.value(row)).ok()?,
            None => LocalZone::UTC,
        };
        if known.as_ref().is_none_or(|(known, _)| known != pattern) {
            known = Some((pattern.to_owned(), Pattern::parse(pattern).ok()));
        }
        let pattern = known.as_ref().and_then(|(_, pattern)| pattern.as_ref())?;
        let time = pattern.read(text).or_else(|| parse_sql_timestamp(text))?;
        Some(zone.to_instant(time.to_millis()?))
    });
    Ok(millis.collect())
}
