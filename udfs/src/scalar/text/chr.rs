//! CHR.

use arrow::datatypes::DataType;
use datafusion_expr::ScalarUDF;

use crate::scalar::arguments::Integer;
use crate::scalar::plain::{Plain, is_integer};
use crate::scalar::text_rows::write_rows;

/// `CHR(number)`: the character of the number's low byte, in ISO 8859-1; the empty text for a negative number.
pub(super) fn chr() -> ScalarUDF {
    Plain::new(
        "chr",
        "CHR(<INTEGER>)",
        |args| match args {
            [number] if is_integer(number) => Some((vec![DataType::Int64], DataType::Utf8)),
            _ => None,
        },
        |args| {
            let numbers = Integer::new(args, 0)?;
            write_rows(args.number_rows, args.number_rows * 2, |row, text| {
                Ok(numbers.get(row).map(|number| {
                    if number >= 0 {
                        text.push(char::from((number & 0xFF) as u8));
                    }
                }))
            })
        },
    )
    .udf()
}
