//! What the functions for hashes share.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use crate::scalar::arguments::{Text, texts_and_ints};
use crate::scalar::plain::Plain;
use crate::scalar::text_rows::write_rows;

/// A function that gives the hash of a text's UTF-8 bytes in lower-case hexadecimal digits.
pub(super) fn hash(
    name: &'static str,
    form: &'static str,
    evaluate: fn(&ScalarFunctionArgs) -> Result<ArrayRef>,
) -> ScalarUDF {
    Plain::new(name, form, |args| Some((texts_and_ints(args, "t")?, DataType::Utf8)), evaluate).udf()
}

/// The hashes of the texts of the first argument.
pub(super) fn hashes<H: AsRef<[u8]>>(
    args: &ScalarFunctionArgs,
    hash: impl Fn(&[u8]) -> H,
) -> Result<ArrayRef> {
    let texts = Text::new(args, 0)?;
    let bytes = 2 * size_of::<H>() * args.number_rows;
    write_rows(args.number_rows, bytes, |row, result| {
        Ok(texts.get(row).map(|text| push_hex(hash(text.as_bytes()).as_ref(), result)))
    })
}

/// Appends bytes in lower-case hexadecimal digits.
pub(super) fn push_hex(bytes: &[u8], text: &mut String) {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value & 15)]);
    text.extend(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]));
}
