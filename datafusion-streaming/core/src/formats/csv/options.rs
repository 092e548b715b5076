//! The options of `csv`.

use datafusion::common::{Result, plan_err};

use crate::formats::TableOptions;

/// The options of `csv`, by their names in Flink without the `csv.` in front.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvOptions {
    /// `field-delimiter`: between the fields of a record.
    pub field_delimiter: char,
    /// `quote-character`, or `None` by `disable-quote-character`: around a field that has delimiters or line
    /// ends in it; doubled within.
    pub quote_character: Option<char>,
    /// `escape-character`: takes away the meaning of the character behind it.
    pub escape_character: Option<char>,
    /// `null-literal`: the field that stands for NULL, quoted or not. Without it, no field does.
    pub null_literal: Option<String>,
    /// `allow-comments`: lines that begin with `#` are passed over, and empty lines with them.
    pub allow_comments: bool,
    /// `ignore-parse-errors`: a field that cannot be read is NULL, one that is missing too, and a record that
    /// cannot be read is passed over. All are counted.
    pub ignore_parse_errors: bool,
    /// `array-element-delimiter`: between the elements of an ARRAY and the fields of a ROW.
    pub array_element_delimiter: String,
    /// `write-bigdecimal-in-scientific-notation`: write DECIMALs near zero with an exponent.
    pub scientific_decimals: bool,
}

impl CsvOptions {
    /// Reads the options `<format>.…` of a table.
    pub fn try_new(options: &TableOptions<'_>, format: &str) -> Result<Self> {
        let key = |name: &str| format!("{format}.{name}");
        let quote_key = key("quote-character");
        let quote_character = options.character(&quote_key, '"')?;
        let disabled = options.boolean(&key("disable-quote-character"), false)?;
        if disabled && options.get(&quote_key).is_some() {
            return plan_err!(
                "table '{}' sets '{quote_key}' and disables it by '{}'; only one of them can be",
                options.table(),
                key("disable-quote-character")
            );
        }
        let escape_key = key("escape-character");
        let escape_character = match options.get(&escape_key) {
            Some(_) => Some(options.character(&escape_key, '\\')?),
            None => None,
        };
        let element_key = key("array-element-delimiter");
        let array_element_delimiter = options.get(&element_key).unwrap_or(";");
        if array_element_delimiter.is_empty() {
            return options.invalid(&element_key, "at least one character");
        }
        Ok(CsvOptions {
            field_delimiter: options.character(&key("field-delimiter"), ',')?,
            quote_character: (!disabled).then_some(quote_character),
            escape_character,
            null_literal: options.get(&key("null-literal")).map(str::to_string),
            allow_comments: options.boolean(&key("allow-comments"), false)?,
            ignore_parse_errors: options.boolean(&key("ignore-parse-errors"), false)?,
            array_element_delimiter: array_element_delimiter.to_string(),
            scientific_decimals: options.boolean(&key("write-bigdecimal-in-scientific-notation"), true)?,
        })
    }
}
