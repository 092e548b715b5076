//! OVERLAPS.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, IntervalMonthDayNanoType, TimeUnit};
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::value::{INTERVAL, is_interval, later};
use crate::common_type::common_type_of;
use crate::datetime::NANOS_PER_DAY;
use crate::scalar::arguments::array;
use crate::scalar::plain::Plain;
use crate::scalar::time::Instants;
use crate::timestamps::is_timestamp;

/// `(a, b) OVERLAPS (c, d)`, planned as `flink_overlaps(a, b, c, d)`: whether two periods have a time in common, be it an end. Ends are
/// times or intervals from the start, and may come first. As in Flink a TIME that goes beyond midnight comes before its start.
pub(super) fn overlaps() -> ScalarUDF {
    let form = "(<DATETIME>, <DATETIME>) OVERLAPS (<DATETIME>, <DATETIME>)";
    Plain::new("flink_overlaps", form, types, evaluate).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    if args.len() != 4 || is_interval(&args[0]) || is_interval(&args[2]) {
        return None;
    }
    let time = match common_type_of(args.iter().filter(|arg| !is_interval(arg)))? {
        DataType::Date32 => DataType::Timestamp(TimeUnit::Millisecond, None),
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Nanosecond),
        time if is_timestamp(&time) => time,
        _ => return None,
    };
    let types = args.iter().map(|arg| if is_interval(arg) { INTERVAL } else { time.clone() });
    Some((types.collect(), DataType::Boolean))
}

/// A point in time in nanoseconds.
type Point = Option<i128>;

/// The times of an argument.
fn points(args: &ScalarFunctionArgs, index: usize) -> Result<Vec<Point>> {
    let times = array(args, index)?;
    if let DataType::Time64(_) = times.data_type() {
        let nanos = cast(&times, &DataType::Int64)?;
        let nanos = nanos.as_primitive::<arrow::datatypes::Int64Type>();
        return Ok(nanos.iter().map(|nanos| nanos.map(i128::from)).collect());
    }
    let instants = Instants::new(&times, &args.config_options)?;
    Ok((0..args.number_rows).map(|row| instants.nanos(row)).collect())
}

/// The ends of periods with these starts.
fn ends(args: &ScalarFunctionArgs, index: usize, starts: &[Point]) -> Result<Vec<Point>> {
    let ends = array(args, index)?;
    if !is_interval(ends.data_type()) {
        return points(args, index);
    }
    let is_time = matches!(args.arg_fields[index - 1].data_type(), DataType::Time64(_));
    let intervals = ends.as_primitive::<IntervalMonthDayNanoType>();
    let end = |(row, start): (usize, &Point)| {
        let (start, interval) = ((*start)?, intervals.is_valid(row).then(|| intervals.value(row))?);
        let end = later(start, interval)?;
        Some(if is_time { end.rem_euclid(NANOS_PER_DAY.into()) } else { end })
    };
    Ok(starts.iter().enumerate().map(end).collect())
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (left, right) = (points(args, 0)?, points(args, 2)?);
    let (left_end, right_end) = (ends(args, 1, &left)?, ends(args, 3, &right)?);
    // if it is not known which comes first, the second does
    let ordered = |start: Point, end: Point| match (start, end) {
        (Some(from), Some(to)) if from <= to => (start, end),
        _ => (end, start),
    };
    let reaches = |end: Point, start: Point| Some(end? >= start?);
    let row = |row: usize| {
        let (start, end) = ordered(left[row], left_end[row]);
        let (other_start, other_end) = ordered(right[row], right_end[row]);
        match (reaches(end, other_start), reaches(other_end, start)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
    };
    Ok(Arc::new((0..args.number_rows).map(row).collect::<BooleanArray>()))
}
