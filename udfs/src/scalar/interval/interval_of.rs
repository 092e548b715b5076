//! `INTERVAL n unit`.

use std::sync::Arc;

use arrow::array::{ArrayRef, IntervalMonthDayNanoArray};
use arrow::datatypes::{DataType, FieldRef};
use datafusion_common::{Result, ScalarValue, exec_datafusion_err, plan_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::value::{INTERVAL, interval_field, of_millis, of_months};
use crate::scalar::arguments::{Integer, constant_text, is_text, result_of, wrong_arguments};
use crate::scalar::plain::is_integer;

/// `INTERVAL n unit` of an expression, planned as `flink_interval(n, 'UNIT')`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct IntervalOf {
    signature: Signature,
}

impl Default for IntervalOf {
    fn default() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

/// A unit in months, or else in milliseconds.
fn size(unit: &str) -> Option<(bool, i64)> {
    Some(match unit {
        "YEAR" => (true, 12),
        "QUARTER" => (true, 3),
        "MONTH" => (true, 1),
        "WEEK" => (false, 604_800_000),
        "DAY" => (false, 86_400_000),
        "HOUR" => (false, 3_600_000),
        "MINUTE" => (false, 60_000),
        "SECOND" => (false, 1_000),
        _ => return None,
    })
}

impl ScalarUDFImpl for IntervalOf {
    fn name(&self) -> &str {
        "flink_interval"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        match arg_types {
            [count, unit] if is_integer(count) && is_text(unit) => Ok(vec![DataType::Int64, DataType::Utf8]),
            _ => Err(wrong_arguments("INTERVAL", arg_types, "INTERVAL <INTEGER> <INTERVAL UNIT>")),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(INTERVAL)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let unit = match args.scalar_arguments.get(1) {
            Some(Some(ScalarValue::Utf8(Some(unit)))) => size(unit),
            _ => None,
        };
        match unit {
            Some((months, _)) => {
                Ok(Arc::new(interval_field(self.name(), months, args.arg_fields[0].is_nullable())))
            }
            None => {
                plan_err!("INTERVAL takes the units YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE and SECOND")
            }
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (months, size) =
            size(constant_text(&args, 1).flatten().unwrap_or_default()).unwrap_or((false, 1));
        let counts = Integer::new(&args, 0)?;
        let rows = (0..args.number_rows).map(|row| {
            let Some(count) = counts.get(row) else { return Ok(None) };
            let value = count.checked_mul(size);
            let interval = match months {
                true => value.and_then(|value| i32::try_from(value).ok()).map(of_months),
                false => value.and_then(of_millis),
            };
            interval
                .map(Some)
                .ok_or_else(|| exec_datafusion_err!("an interval of {count} units is out of range"))
        });
        let intervals: ArrayRef = Arc::new(rows.collect::<Result<IntervalMonthDayNanoArray>>()?);
        result_of(&args, intervals)
    }
}
