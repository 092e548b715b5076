//! Timestamps of more than six digits, plus or minus intervals.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, FieldRef, IntervalMonthDayNano, IntervalMonthDayNanoType};
use datafusion_common::{Result, exec_datafusion_err, plan_datafusion_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

use super::value::{INTERVAL, is_interval, later};
use crate::scalar::arguments::{any_nullable, array, result_of, wrong_arguments};
use crate::timestamps::{TimestampType, Timestamps, is_wide_timestamp};

/// `time + interval` or `time - interval` of a TIMESTAMP or TIMESTAMP_LTZ in 128 bits, planned as `flink_shift(time, interval)` and
/// `flink_shift_back(time, interval)`. The type stays, with the digits that its metadata tells. Months are added to the day, which is
/// then at most the last of its month.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Shift {
    is_back: bool,
    signature: Signature,
}

impl Shift {
    /// The function for `+`, or if `is_back` for `-`.
    pub fn new(is_back: bool) -> Self {
        Self { is_back, signature: Signature::user_defined(Volatility::Immutable) }
    }

    fn by(&self, interval: IntervalMonthDayNano) -> Option<IntervalMonthDayNano> {
        if !self.is_back {
            return Some(interval);
        }
        let (months, days) = (interval.months.checked_neg()?, interval.days.checked_neg()?);
        Some(IntervalMonthDayNano::new(months, days, interval.nanoseconds.checked_neg()?))
    }
}

impl ScalarUDFImpl for Shift {
    fn name(&self) -> &str {
        if self.is_back { "flink_shift_back" } else { "flink_shift" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        if let [time, interval] = arg_types
            && is_wide_timestamp(time)
            && (is_interval(interval) || interval.is_null())
        {
            return Ok(vec![time.clone(), INTERVAL]);
        }
        let sign = if self.is_back { "-" } else { "+" };
        Err(wrong_arguments(sign, arg_types, &format!("<TIMESTAMP> {sign} <INTERVAL>")))
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        arg_types.first().cloned().ok_or_else(|| plan_datafusion_err!("a time is missing"))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let time = args.arg_fields[0].as_ref().clone();
        Ok(Arc::new(time.with_name(self.name()).with_nullable(any_nullable(args.arg_fields))))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (times, intervals) = (array(&args, 0)?, array(&args, 1)?);
        let Some(of) = TimestampType::of(times.data_type()) else {
            return Err(wrong_arguments(self.name(), &[times.data_type().clone()], "<TIMESTAMP>"));
        };
        let times = Timestamps::new(&times)?;
        let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>();
        let rows = (0..args.number_rows).map(|row| {
            let (Some(time), true) = (times.nanos(row), intervals.is_valid(row)) else { return Ok(None) };
            let shifted = self.by(intervals.value(row)).and_then(|interval| later(time, interval));
            // as many milliseconds as Flink counts
            let shifted = shifted.filter(|nanos| i64::try_from(nanos.div_euclid(1_000_000)).is_ok());
            shifted.map(Some).ok_or_else(|| {
                exec_datafusion_err!(
                    "a timestamp plus or minus an interval is out of the range of timestamps"
                )
            })
        });
        let shifted: ArrayRef = of.collect_nanos(rows)?;
        result_of(&args, shifted)
    }
}
