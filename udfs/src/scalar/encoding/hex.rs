//! HEX.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringArray};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::DataType;
use datafusion_common::{Result, exec_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use crate::scalar::arguments::{Integer, is_text, strings};
use crate::scalar::plain::{Plain, is_integer};
use crate::scalar::text_rows::write_rows;

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// `HEX(x)`: an integer in two's complement of 64 bits without leading zeros, or the bytes of a text.
pub(super) fn hex() -> ScalarUDF {
    Plain::new("hex", "HEX(<INTEGER>)", types, evaluate).udf()
}

fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match args {
        [number] if is_integer(number) => Some((vec![DataType::Int64], DataType::Utf8)),
        [text] if is_text(text) => Some((vec![DataType::Utf8], DataType::Utf8)),
        _ => None,
    }
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    if is_text(args.arg_fields[0].data_type()) {
        return of_texts(&strings(args, 0)?);
    }
    let digit = |value: u8| char::from(DIGITS[usize::from(value & 15)]);
    let numbers = Integer::new(args, 0)?;
    write_rows(args.number_rows, 16 * args.number_rows, |row, result| {
        Ok(numbers.get(row).map(|number| {
            let digits = 16 - (number as u64 | 1).leading_zeros() / 4;
            result.extend((0..digits).rev().map(|place| digit((number >> (4 * place)) as u8)));
        }))
    })
}

/// All rows at once: each byte of the column becomes two, so that the rows end at twice their ends.
fn of_texts(texts: &StringArray) -> Result<ArrayRef> {
    let offsets = texts.value_offsets();
    let (first, last) = (offsets[0], offsets[texts.len()]);
    if last - first > i32::MAX / 2 {
        return exec_err!("the texts of a batch exceed 2 GiB; use smaller batches");
    }
    let bytes = &texts.value_data()[first as usize..last as usize];
    let digit = |value: u8| value + if value < 10 { b'0' } else { b'A' - 10 };
    let mut digits = vec![0; 2 * bytes.len()];
    for (digits, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        (digits[0], digits[1]) = (digit(byte >> 4), digit(byte & 15));
    }
    let offsets: ScalarBuffer<i32> = offsets.iter().map(|offset| 2 * (offset - first)).collect();
    let nulls = texts.nulls().cloned();
    Ok(Arc::new(StringArray::try_new(OffsetBuffer::new(offsets), Buffer::from_vec(digits), nulls)?))
}
