//! DATE_FORMAT.

use arrow::array::{Array, StringBuilder};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use super::instants::Instants;
use crate::datetime::{LegacyPattern, LocalDateTime, Pattern, parse_lenient};
use crate::scalar::arguments::{array, constant_text, is_text, result, strings, wrong_arguments};
use crate::timestamps::is_timestamp;

/// `DATE_FORMAT(time, pattern)`: a TIMESTAMP, or a TIMESTAMP_LTZ in the session's zone, as text, by a
/// pattern of Java's `DateTimeFormatter`; or a text of the form `yyyy-MM-dd HH:mm:ss`, NULL if it has
/// another, by a pattern of `SimpleDateFormat`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct DateFormat {
    signature: Signature,
}

impl Default for DateFormat {
    fn default() -> Self {
        Self { signature: Signature::user_defined(Volatility::Stable) }
    }
}

impl ScalarUDFImpl for DateFormat {
    fn name(&self) -> &str {
        "date_format"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        match arg_types {
            [time, pattern] if is_timestamp(time) && is_text(pattern) => {
                Ok(vec![time.clone(), DataType::Utf8])
            }
            [time, pattern] if is_text(time) && is_text(pattern) => Ok(vec![DataType::Utf8, DataType::Utf8]),
            _ => Err(wrong_arguments("DATE_FORMAT", arg_types, "DATE_FORMAT(<TIMESTAMP>, <CHARACTER>)")),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let mut texts = StringBuilder::with_capacity(args.number_rows, args.number_rows * 20);
        if is_text(args.arg_fields[0].data_type()) {
            let times = strings(&args, 0)?;
            let time = |row: usize| times.is_valid(row).then(|| parse_lenient(times.value(row))).flatten();
            format(
                &args,
                time,
                LegacyPattern::parse,
                |pattern, time, text| {
                    pattern.print(time, text);
                    Ok(())
                },
                |_, time| time,
                &mut texts,
            )?;
        } else {
            let times = Instants::new(&array(&args, 0)?, &args.config_options)?;
            format(
                &args,
                |row| times.local(row),
                Pattern::parse,
                |pattern, time, text| pattern.print(time, text),
                Pattern::shown_part,
                &mut texts,
            )?;
        }
        result(&args, texts.finish())
    }
}

/// Appends the time of each row by its pattern. A pattern is read once as long as it stays the same, and a
/// time is printed once as long as what the pattern shows of it, `shown`, is.
fn format<P>(
    args: &ScalarFunctionArgs,
    time: impl Fn(usize) -> Option<LocalDateTime>,
    parse: impl Fn(&str) -> Result<P>,
    print: impl Fn(&P, LocalDateTime, &mut String) -> Result<()>,
    shown: impl Fn(&P, LocalDateTime) -> LocalDateTime,
    texts: &mut StringBuilder,
) -> Result<()> {
    let patterns = match constant_text(args, 1) {
        Some(_) => None,
        None => Some(strings(args, 1)?),
    };
    let constant = constant_text(args, 1).flatten();
    let mut known: Option<(String, P)> = None;
    let mut text = String::new();
    let mut printed = None;
    for row in 0..args.number_rows {
        let pattern = match &patterns {
            Some(patterns) => patterns.is_valid(row).then(|| patterns.value(row)),
            None => constant,
        };
        let (Some(pattern), Some(time)) = (pattern, time(row)) else {
            texts.append_null();
            continue;
        };
        if known.as_ref().is_none_or(|(text, _)| text != pattern) {
            known = Some((pattern.to_owned(), parse(pattern)?));
            printed = None;
        }
        if let Some((_, pattern)) = &known {
            let part = shown(pattern, time);
            if printed != Some(part) {
                text.clear();
                print(pattern, time, &mut text)?;
                printed = Some(part);
            }
            texts.append_value(&text);
        }
    }
    Ok(())
}
