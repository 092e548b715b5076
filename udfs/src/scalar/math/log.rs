//! LOG.

use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use super::doubles::{is_numeric, of_one, of_two};
use crate::scalar::plain::Plain;

/// `LOG([base,] number)`: the logarithm to a base, as the quotient of two natural ones, or the natural one; a DOUBLE.
pub(super) fn log() -> ScalarUDF {
    Plain::new("log", "LOG(<NUMERIC>, <NUMERIC>)", types, |args| match args.args.len() {
        1 => of_one(args, f64::ln),
        _ => of_two(args, |base, number| number.ln() / base.ln()),
    })
    .udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let fits = matches!(args.len(), 1 | 2) && args.iter().all(is_numeric);
    fits.then(|| (args.to_vec(), DataType::Float64))
}
