//! CONVERT_TZ.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringBuilder};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use crate::datetime::{LegacyPattern, LocalDateTime, LocalZone, parse_lenient};
use crate::scalar::arguments::{is_text, strings};
use crate::scalar::plain::{Nullable, Plain};

/// `CONVERT_TZ(text, from, to)`: a time `yyyy-MM-dd HH:mm:ss` in one zone as text in another. NULL if it cannot be
/// read. An unknown zone counts as UTC.
pub(super) fn convert_tz() -> ScalarUDF {
    Plain::new("convert_tz", "CONVERT_TZ(<CHARACTER>, <CHARACTER>, <CHARACTER>)", types, evaluate)
        .nullable(Nullable::Always)
        .udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    (args.len() == 3 && args.iter().all(is_text)).then(|| (vec![DataType::Utf8; 3], DataType::Utf8))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (texts, from, to) = (strings(args, 0)?, strings(args, 1)?, strings(args, 2)?);
    let pattern = LegacyPattern::parse("yyyy-MM-dd HH:mm:ss")?;
    let mut result = StringBuilder::with_capacity(texts.len(), texts.len() * 19);
    let mut text = String::new();
    for row in 0..texts.len() {
        let valid = texts.is_valid(row) && from.is_valid(row) && to.is_valid(row);
        let zone = |name: &str| LocalZone::parse(name).unwrap_or(LocalZone::UTC);
        let local = || parse_lenient(texts.value(row))?.to_millis();
        match if valid { local() } else { None } {
            Some(local) => {
                let instant = zone(from.value(row)).to_later_instant(local);
                let time = LocalDateTime::from_millis(zone(to.value(row)).to_local(instant), 0);
                text.clear();
                pattern.print(time, &mut text);
                result.append_value(&text);
            }
            None => result.append_null(),
        }
    }
    Ok(Arc::new(result.finish()))
}
