//! ATAN2.

use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use super::doubles::{of_two, two_numbers};
use crate::decimal::is_decimal;
use crate::scalar::plain::Plain;

/// `ATAN2(y, x)`: the angle of a point in radians, a DOUBLE. As in Flink a DECIMAL goes only with another one.
pub(super) fn atan2() -> ScalarUDF {
    Plain::new("atan2", "ATAN2(<NUMERIC>, <NUMERIC>)", types, |args| of_two(args, f64::atan2)).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let decimals = args.iter().filter(|arg| is_decimal(arg)).count();
    two_numbers(args).filter(|_| decimals != 1)
}
