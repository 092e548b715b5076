//! `(a - b) unit`.

use std::sync::Arc;

use arrow::array::{ArrayRef, IntervalMonthDayNanoArray};
use arrow::datatypes::{DataType, FieldRef, TimeUnit};
use datafusion_common::{Result, ScalarValue, exec_datafusion_err, plan_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::value::{INTERVAL, interval_field, of_millis, of_months};
use crate::scalar::arguments::{any_nullable, array, constant_text, result_of, wrong_arguments};
use crate::scalar::time::{Instants, months_between};
use crate::timestamps::is_timestamp;

/// `(a - b) unit`, planned as `flink_minus(a, b, 'UNIT')`: the time from b to a as an interval, of whole months for YEAR, QUARTER and MONTH,
/// else of milliseconds.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Difference {
    signature: Signature,
}

impl Default for Difference {
    fn default() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

fn of_months_unit(unit: &str) -> bool {
    matches!(unit, "YEAR" | "QUARTER" | "MONTH")
}

/// What a time is read as: DATE and TIME as timestamps.
fn read_as(data_type: &DataType) -> Option<DataType> {
    Some(match data_type {
        time if is_timestamp(time) => time.clone(),
        DataType::Date32 => DataType::Timestamp(TimeUnit::Second, None),
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time32(TimeUnit::Millisecond),
        _ => return None,
    })
}

impl ScalarUDFImpl for Difference {
    fn name(&self) -> &str {
        "flink_minus"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        let wrong = || wrong_arguments("-", arg_types, "(<DATETIME> - <DATETIME>) <INTERVAL UNIT>");
        let [end, start, _] = arg_types else { return Err(wrong()) };
        let (end, start) = (read_as(end).ok_or_else(wrong)?, read_as(start).ok_or_else(wrong)?);
        if matches!(end, DataType::Time32(_)) != matches!(start, DataType::Time32(_)) {
            return Err(wrong());
        }
        Ok(vec![end, start, DataType::Utf8])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(INTERVAL)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let unit = match args.scalar_arguments.get(2) {
            Some(Some(ScalarValue::Utf8(Some(unit)))) => unit.as_str(),
            _ => return plan_err!("the unit of a difference must be a constant"),
        };
        Ok(Arc::new(interval_field(self.name(), of_months_unit(unit), any_nullable(&args.arg_fields[..2]))))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let months = of_months_unit(constant_text(&args, 2).flatten().unwrap_or_default());
        let (ends, starts) = (millis(&args, 0)?, millis(&args, 1)?);
        let rows = ends.into_iter().zip(starts).map(|row| {
            let (Some(end), Some(start)) = row else { return Ok(None) };
            let interval = if months {
                i32::try_from(months_between(start, end)).ok().map(of_months)
            } else {
                end.checked_sub(start).and_then(of_millis)
            };
            interval
                .map(Some)
                .ok_or_else(|| exec_datafusion_err!("a difference of times is out of the range of intervals"))
        });
        let intervals: ArrayRef = Arc::new(rows.collect::<Result<IntervalMonthDayNanoArray>>()?);
        result_of(&args, intervals)
    }
}

/// The times of an argument in milliseconds.
fn millis(args: &ScalarFunctionArgs, index: usize) -> Result<Vec<Option<i64>>> {
    let times = array(args, index)?;
    if let DataType::Time32(_) = times.data_type() {
        use arrow::array::AsArray;
        let times = times.as_primitive::<arrow::datatypes::Time32MillisecondType>();
        return Ok(times.iter().map(|time| time.map(i64::from)).collect());
    }
    let instants = Instants::new(&times, &args.config_options)?;
    Ok((0..args.number_rows).map(|row| instants.millis(row).map(|(millis, _)| millis)).collect())
}
