//! The options of the JSON formats.

use datafusion::common::{Result, plan_err};

use crate::formats::{TableOptions, TimestampStandard};

/// The options of `json`, by their names in Flink without the `json.` in front.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonOptions {
    /// `fail-on-missing-field`: an object must have a field for every column. Otherwise what is missing
    /// is NULL.
    pub fail_on_missing_field: bool,
    /// `ignore-parse-errors`: a field that cannot be read is NULL, and a record that cannot be read is
    /// passed over. Both are counted.
    pub ignore_parse_errors: bool,
    /// `timestamp-format.standard`.
    pub timestamp_standard: TimestampStandard,
    /// `encode.decimal-as-plain-number`: write DECIMALs near zero without an exponent.
    pub plain_decimals: bool,
    /// `encode.ignore-null-fields`: do not write fields that are NULL.
    pub ignore_null_fields: bool,
}

impl JsonOptions {
    /// Reads the options `<format>.…` of a table. Flink refuses the two flags together, so do we.
    pub fn try_new(options: &TableOptions<'_>, format: &str) -> Result<Self> {
        let key = |name: &str| format!("{format}.{name}");
        // It chooses between two parsers of Flink's, which read the same
        options.boolean(&key("decode.json-parser.enabled"), true)?;
        let json = JsonOptions {
            fail_on_missing_field: options.boolean(&key("fail-on-missing-field"), false)?,
            ..JsonOptions::common(options, format)?
        };
        if json.fail_on_missing_field && json.ignore_parse_errors {
            return plan_err!(
                "table '{}' sets both '{}' and '{}'; only one of them may be true",
                options.table(),
                key("fail-on-missing-field"),
                key("ignore-parse-errors")
            );
        }
        Ok(json)
    }

    /// The options that every format made of JSON has.
    pub(in crate::formats) fn common(options: &TableOptions<'_>, format: &str) -> Result<Self> {
        let key = |name: &str| format!("{format}.{name}");
        let standards = [("SQL", TimestampStandard::Sql), ("ISO-8601", TimestampStandard::Iso8601)];
        // Maps in Arrow have no NULL keys, so that all modes come to the same
        options.choice(&key("map-null-key.mode"), &["FAIL", "DROP", "LITERAL"].map(|mode| (mode, ())), ())?;
        options.get(&key("map-null-key.literal"));
        Ok(JsonOptions {
            fail_on_missing_field: false,
            ignore_parse_errors: options.boolean(&key("ignore-parse-errors"), false)?,
            timestamp_standard: options.choice(
                &key("timestamp-format.standard"),
                &standards,
                TimestampStandard::Sql,
            )?,
            plain_decimals: options.boolean(&key("encode.decimal-as-plain-number"), false)?,
            ignore_null_fields: options.boolean(&key("encode.ignore-null-fields"), false)?,
        })
    }
}
