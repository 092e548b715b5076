//! ARROW_TIMESTAMP.

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, TimeUnit};
use datafusion_common::{Result, exec_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use crate::scalar::arguments::array;
use crate::scalar::plain::Plain;
use crate::timestamps::{TimestampType, TimestampUnit, Timestamps};

/// `arrow_timestamp(time)`: a TIMESTAMP or TIMESTAMP_LTZ of any precision as Arrow's own type of nanoseconds, which other tools than Flink
/// SQL read. An error beyond the years 1677 to 2262, where that type ends.
pub fn arrow_timestamp() -> ScalarUDF {
    Plain::new("arrow_timestamp", "ARROW_TIMESTAMP(<TIMESTAMP>)", types, evaluate).udf()
}

fn nanoseconds(of: TimestampType) -> TimestampType {
    TimestampType { unit: TimestampUnit::Arrow(TimeUnit::Nanosecond), ..of }
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let [time] = args else { return None };
    let of = TimestampType::of(time)?;
    Some((vec![time.clone()], nanoseconds(of).data_type()))
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let times = array(args, 0)?;
    let Some(of) = TimestampType::of(times.data_type()) else {
        return exec_err!("ARROW_TIMESTAMP takes a timestamp, not {}", times.data_type());
    };
    let times = Timestamps::new(&times)?;
    let beyond = |millis: i64| {
        exec_err!(
            "a timestamp {millis} ms from 1970 is beyond Arrow's timestamps of nanoseconds, which lie in the years 1677 to 2262"
        )
    };
    nanoseconds(of).collect((0..args.number_rows).map(|row| Ok(times.millis(row))), beyond)
}
