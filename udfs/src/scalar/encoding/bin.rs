//! BIN.

use std::fmt::Write;

use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use crate::scalar::arguments::Integer;
use crate::scalar::plain::{Plain, is_integer};
use crate::scalar::text_rows::write_rows;

/// `BIN(number)`: an integer in two's complement of 64 bits, binary, without leading zeros.
pub(super) fn bin() -> ScalarUDF {
    Plain::new(
        "bin",
        "BIN(<INTEGER>)",
        |args| match args {
            [number] if is_integer(number) => Some((vec![DataType::Int64], DataType::Utf8)),
            _ => None,
        },
        |args| {
            let numbers = Integer::new(args, 0)?;
            write_rows(args.number_rows, 16 * args.number_rows, |row, result| {
                Ok(numbers.get(row).map(|number| {
                    // writing to a String cannot fail
                    let _ = write!(result, "{number:b}");
                }))
            })
        },
    )
    .udf()
}
