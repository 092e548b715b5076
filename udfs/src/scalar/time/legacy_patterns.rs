//! Patterns of `SimpleDateFormat` as arguments.

use datafusion_common::Result;

use crate::datetime::LegacyPattern;

/// A pattern, read once as long as it stays the same.
#[derive(Default)]
pub(super) struct LegacyPatterns {
    known: Option<(String, LegacyPattern)>,
}

impl LegacyPatterns {
    pub(super) fn get(&mut self, pattern: &str) -> Result<&LegacyPattern> {
        let known = match self.known.take() {
            Some(known) if known.0 == pattern => known,
            _ => (pattern.to_owned(), LegacyPattern::parse(pattern)?),
        };
        Ok(&self.known.insert(known).1)
    }
}
