//! SPLIT_INDEX.

use arrow::array::{Array, AsArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type};
use datafusion_common::Result;
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use crate::scalar::arguments::{array, is_text, result, strings, wrong_arguments};

/// `SPLIT_INDEX(text, separator, index)`: the part of a text between separators, counted from 0. The
/// separator is a text, or the code of a character from 1 to 255.
///
/// NULL where an argument is, where there is no such part (the empty text has none), or where the code
/// is out of range. An empty separator does not split.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct SplitIndex {
    signature: Signature,
}

impl Default for SplitIndex {
    fn default() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for SplitIndex {
    fn name(&self) -> &str {
        "split_index"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        match arg_types {
            [text, separator, index] if is_text(text) && (index.is_integer() || index.is_null()) => {
                if is_text(separator) {
                    return Ok(vec![DataType::Utf8, DataType::Utf8, DataType::Int32]);
                }
                if separator.is_integer() {
                    return Ok(vec![DataType::Utf8, DataType::Int32, DataType::Int32]);
                }
            }
            _ => {}
        }
        let supported = "SPLIT_INDEX(<CHARACTER>, <CHARACTER>, <INTEGER>)";
        Err(wrong_arguments("SPLIT_INDEX", arg_types, supported))
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let texts = strings(&args, 0)?;
        let separators = array(&args, 1)?;
        let codes = separators.as_primitive_opt::<Int32Type>();
        let separator_texts = cast(&separators, &DataType::Utf8)?;
        let separator_texts = separator_texts.as_string::<i32>();
        let indexes = array(&args, 2)?;
        let indexes = indexes.as_primitive::<Int32Type>();
        let mut parts = StringBuilder::with_capacity(texts.len(), texts.value_data().len());
        let mut character = [0; 4];
        for row in 0..texts.len() {
            if texts.is_null(row) || separators.is_null(row) || indexes.is_null(row) {
                parts.append_null();
                continue;
            }
            let separator = match codes {
                Some(codes) => match u8::try_from(codes.value(row)) {
                    Ok(code @ 1..) => Some(&*char::from(code).encode_utf8(&mut character)),
                    _ => None,
                },
                None => Some(separator_texts.value(row)),
            };
            parts.append_option(
                separator.and_then(|separator| part(texts.value(row), separator, indexes.value(row))),
            );
        }
        result(&args, parts.finish())
    }
}

fn part<'a>(text: &'a str, separator: &str, index: i32) -> Option<&'a str> {
    let index = usize::try_from(index).ok().filter(|_| !text.is_empty())?;
    match separator.as_bytes() {
        [] => (index == 0).then_some(text),
        [byte] => text.split(char::from(*byte)).nth(index),
        _ => text.split(separator).nth(index),
    }
}
