//! SHA2.

use ::sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion_common::{Result, exec_err};
use datafusion_expr::{ScalarFunctionArgs, ScalarUDF};

use super::hash::push_hex;
use crate::scalar::arguments::{Integer, Text, texts_and_ints};
use crate::scalar::plain::Plain;
use crate::scalar::text_rows::write_rows;

/// `SHA2(text, bits)`: the hash of the UTF-8 bytes of a text in hexadecimal digits, with 224, 256, 384 or 512 bits. Another
/// number is an error.
pub(super) fn sha2() -> ScalarUDF {
    let form = "SHA2(<CHARACTER>, <INTEGER>)";
    Plain::new("sha2", form, |args| Some((texts_and_ints(args, "ti")?, DataType::Utf8)), evaluate).udf()
}

fn evaluate(args: &ScalarFunctionArgs) -> Result<ArrayRef> {
    let (texts, lengths) = (Text::new(args, 0)?, Integer::new(args, 1)?);
    write_rows(args.number_rows, 128 * args.number_rows, |row, result| {
        let (Some(text), Some(bits)) = (texts.get(row), lengths.get(row)) else { return Ok(None) };
        match bits {
            224 => push_hex(&Sha224::digest(text), result),
            256 => push_hex(&Sha256::digest(text), result),
            384 => push_hex(&Sha384::digest(text), result),
            512 => push_hex(&Sha512::digest(text), result),
            _ => return exec_err!("SHA2 has no hash of {bits} bits; use 224, 256, 384 or 512"),
        }
        Ok(Some(()))
    })
}
