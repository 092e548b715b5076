//! The options of the JSON formats.

use datafusion::common::{Result, plan_err};

use crate::formats::{TableOptions, TimestampStandard};

/// The options of `json`, by their names in Flink without the `json.` in front.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JsonOptions {
    /// `fail-on-missing-field`: an object must have a field for every column. Otherwise what is missing
    /// is NULL.
    pub fail_on_missing_field: bool,
    /// `ignore-parse-errors`: a field that cannot be read is NULL, and a record that cannot be read is
    /// passed over. Both are counted.
    pub ignore_parse_errors: bool,
    /// `timestamp-format.standard`.
    pub timestamp_standard: TimestampStandard,
}

impl JsonOptions {
    /// Reads the options `<format>.…` of a table. Flink refuses the two flags together, so do we.
    pub fn try_new(options: &TableOptions<'_>, format: &str) -> Result<Self> {
        let key = |name: &str| format!("{format}.{name}");
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
        let standards = [("SQL", TimestampStandard::Sql), ("ISO-8601", TimestampStandard::Iso8601)];
        Ok(JsonOptions {
            fail_on_missing_field: false,
            ignore_parse_errors: options.boolean(&format!("{format}.ignore-parse-errors"), false)?,
            timestamp_standard: options.choice(
                &format!("{format}.timestamp-format.standard"),
                &standards,
                TimestampStandard::Sql,
            )?,
        })
    }
}
