//! Intervals times numbers.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, IntervalMonthDayNanoArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, IntervalMonthDayNanoType};
use datafusion_common::{Result, exec_datafusion_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::value::{INTERVAL, is_interval, millis, of_millis};
use crate::scalar::arguments::{Integer, array};
use crate::scalar::plain::{Plain, is_integer};

/// `interval * n` and `n * interval`, planned as `flink_interval_times(interval, n)`.
pub fn interval_times() -> ScalarUDF {
    Plain::new("flink_interval_times", "<INTERVAL> * <INTEGER>", types, evaluate).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [interval, count] if is_interval(interval) && is_integer(count) => {
            Some((vec![INTERVAL, DataType::Int64], INTERVAL))
        }
        _ => None,
    }
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let intervals = cast(&array(args, 0)?, &INTERVAL)?;
    let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>();
    let counts = Integer::new(args, 1)?;
    let rows = (0..args.number_rows).map(|row| {
        let (true, Some(count)) = (intervals.is_valid(row), counts.get(row)) else { return Ok(None) };
        let interval = intervals.value(row);
        let product = || {
            let mut product = of_millis(millis(interval).checked_mul(count)?)?;
            product.months = i32::try_from(i64::from(interval.months).checked_mul(count)?).ok()?;
            Some(product)
        };
        product().map(Some).ok_or_else(|| exec_datafusion_err!("an interval times {count} is out of range"))
    });
    Ok(Arc::new(rows.collect::<Result<IntervalMonthDayNanoArray>>()?))
}
