//! TO_TIMESTAMP.

use arrow::array::TimestampMillisecondArray;
use arrow::datatypes::{DataType, TimeUnit};
use datafusion_common::Result;
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use crate::datetime::{LocalDateTime, Pattern, parse_sql_timestamp, parse_timestamp};
use crate::scalar::arguments::{is_text, result, strings, wrong_arguments};

/// `TO_TIMESTAMP(text [, pattern])`: a TIMESTAMP(3). The default form is `yyyy-MM-dd[ HH:mm:ss[.f…]]`
/// with one or two digits for all but the year; a pattern is one of Java's `DateTimeFormatter`. Finer
/// fractions are cut off. NULL where the text has another form, or the pattern is none.
///
/// A text that does not follow its pattern is tried as `yyyy-[M]M-[d]d[ HH:mm:ss[.f…]]`, with days and
/// times that count on, as Flink does.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct ToTimestamp {
    signature: Signature,
}

impl Default for ToTimestamp {
    fn default() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for ToTimestamp {
    fn name(&self) -> &str {
        "to_timestamp"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        if matches!(arg_types.len(), 1 | 2) && arg_types.iter().all(is_text) {
            return Ok(vec![DataType::Utf8; arg_types.len()]);
        }
        Err(wrong_arguments("TO_TIMESTAMP", arg_types, "TO_TIMESTAMP(<CHARACTER>, <CHARACTER>)"))
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Timestamp(TimeUnit::Millisecond, None))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let texts = strings(&args, 0)?;
        let timestamps: TimestampMillisecondArray = match args.args.len() {
            1 => texts.iter().map(|text| text.and_then(parse_timestamp)?.to_millis()).collect(),
            _ => {
                let patterns = strings(&args, 1)?;
                let mut reader = Reader::default();
                texts
                    .iter()
                    .zip(&patterns)
                    .map(|(text, pattern)| reader.read(text?, pattern?)?.to_millis())
                    .collect()
            }
        };
        result(&args, timestamps)
    }
}

/// Reads texts by patterns; a pattern is read once as long as it stays the same.
#[derive(Default)]
struct Reader {
    known: Option<(String, Option<Pattern>)>,
}

impl Reader {
    fn read(&mut self, text: &str, pattern: &str) -> Option<LocalDateTime> {
        if self.known.as_ref().is_none_or(|(known, _)| known != pattern) {
            self.known = Some((pattern.to_owned(), Pattern::parse(pattern).ok()));
        }
        let pattern = self.known.as_ref().and_then(|(_, pattern)| pattern.as_ref())?;
        pattern.read(text).or_else(|| parse_sql_timestamp(text))
    }
}
