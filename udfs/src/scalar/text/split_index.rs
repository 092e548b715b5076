//! SPLIT_INDEX.

use arrow::array::{Array, StringBuilder};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use crate::scalar::arguments::{Integer, Text, is_text, result, strings, wrong_arguments};

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
        let separators = Separators::new(&args)?;
        let indexes = Integer::new(&args, 2)?;
        let mut parts = StringBuilder::with_capacity(texts.len(), 0);
        let mut character = [0; 4];
        for row in 0..texts.len() {
            let part = match (texts.is_valid(row), separators.get(row, &mut character), indexes.get(row)) {
                (true, Some(separator), Some(index)) => part(texts.value(row), separator, index),
                _ => None,
            };
            parts.append_option(part);
        }
        result(&args, parts.finish())
    }
}

/// What texts are split at.
enum Separators<'a> {
    Texts(Text<'a>),
    /// The codes of characters.
    Codes(Integer),
}

impl<'a> Separators<'a> {
    fn new(args: &'a ScalarFunctionArgs) -> Result<Self> {
        let is_code = args.arg_fields.get(1).is_some_and(|field| field.data_type().is_integer());
        Ok(match is_code {
            true => Separators::Codes(Integer::new(args, 1)?),
            false => Separators::Texts(Text::new(args, 1)?),
        })
    }

    /// The separator of a row, `None` for NULL and for codes out of range; `character` is room for it.
    #[inline]
    fn get<'b>(&'b self, row: usize, character: &'b mut [u8; 4]) -> Option<&'b str> {
        match self {
            Separators::Texts(texts) => texts.get(row),
            Separators::Codes(codes) => match u8::try_from(codes.get(row)?) {
                Ok(code @ 1..) => Some(char::from(code).encode_utf8(character)),
                _ => None,
            },
        }
    }
}

fn part<'a>(text: &'a str, separator: &str, index: i64) -> Option<&'a str> {
    let index = usize::try_from(index).ok().filter(|_| !text.is_empty())?;
    match separator.as_bytes() {
        [] => (index == 0).then_some(text),
        [byte] => part_between(text, *byte, index),
        _ => text.split(separator).nth(index),
    }
}

/// The part of a text between bytes that are ASCII. Parts are short: looking at each byte is faster than
/// searching for the next separator.
fn part_between(text: &str, separator: u8, index: usize) -> Option<&str> {
    let (mut start, mut left) = (0, index);
    for (place, byte) in text.bytes().enumerate() {
        if byte == separator {
            if left == 0 {
                return text.get(start..place);
            }
            left -= 1;
            start = place + 1;
        }
    }
    text.get(start..).filter(|_| left == 0)
}
