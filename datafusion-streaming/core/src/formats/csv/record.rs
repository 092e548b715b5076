//! CSV text, cut into records and fields.

use super::CsvOptions;
use crate::formats::Malformed;
use crate::formats::column::abridged;

/// Where records and fields end.
#[derive(Debug)]
pub(super) struct Dialect {
    delimiter: char,
    quote: Option<char>,
    escape: Option<char>,
    comments: bool,
}

impl Dialect {
    pub(super) fn new(options: &CsvOptions) -> Self {
        Dialect {
            delimiter: options.field_delimiter,
            quote: options.quote_character,
            escape: options.escape_character,
            comments: options.allow_comments,
        }
    }

    /// The length of the first record of `input`, its line end included. Line ends within quotes do not end it.
    pub(super) fn record_len(&self, input: &[u8]) -> Option<usize> {
        let end_of_line = || input.iter().position(|byte| *byte == b'\n').map(|end| end + 1);
        let Some(quote) = self.quote.filter(|_| !self.is_comment(input)) else { return end_of_line() };
        let (mut buffers, mut escape_buffer, mut delimiter_buffer) = ([0; 4], [0; 4], [0; 4]);
        let quote = quote.encode_utf8(&mut buffers).as_bytes();
        let escape = self.escape.map(|escape| escape.encode_utf8(&mut escape_buffer).as_bytes());
        let delimiter = self.delimiter.encode_utf8(&mut delimiter_buffer).as_bytes();
        let (mut at, mut at_start, mut in_quotes) = (0, true, false);
        while at < input.len() {
            let rest = &input[at..];
            if escape.is_some_and(|escape| rest.starts_with(escape)) {
                at += escape.map_or(0, <[u8]>::len) + 1;
                at_start = false;
            } else if rest.starts_with(quote) && (at_start || in_quotes) {
                // A doubled quote leaves the quotes and enters them again
                at += quote.len();
                at_start = in_quotes;
                in_quotes = !in_quotes;
            } else if !in_quotes && rest[0] == b'\n' {
                return Some(at + 1);
            } else if !in_quotes && rest.starts_with(delimiter) {
                at += delimiter.len();
                at_start = true;
            } else {
                at += 1;
                at_start = false;
            }
        }
        None
    }

    /// Whether a record is to be passed over: a comment, or an empty line where there are comments.
    pub(super) fn is_skipped(&self, record: &[u8]) -> bool {
        self.is_comment(record) || (self.comments && record.trim_ascii().is_empty())
    }

    fn is_comment(&self, record: &[u8]) -> bool {
        let content = || record.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
        self.comments && content() == Some(&b'#')
    }

    /// Cuts a record (without its line end) into its fields.
    pub(super) fn split(&self, record: &str, fields: &mut FieldTexts) -> Result<(), Malformed> {
        fields.clear();
        let mut rest = record;
        loop {
            let after = match self.quote.and_then(|quote| rest.strip_prefix(quote)) {
                Some(quoted) => self.quoted(quoted, fields)?,
                None => self.unquoted(rest, fields)?,
            };
            fields.end_field();
            match after.strip_prefix(self.delimiter) {
                Some(next) => rest = next,
                None if after.is_empty() => return Ok(()),
                None => {
                    return Err(Malformed::new(format!(
                        "'{}' behind the closing quote of a field",
                        abridged(after)
                    )));
                }
            }
        }
    }

    /// Reads a field up to its delimiter, and gives the rest.
    fn unquoted<'a>(&self, text: &'a str, fields: &mut FieldTexts) -> Result<&'a str, Malformed> {
        let mut rest = text;
        loop {
            let end = rest.find(|c| c == self.delimiter || Some(c) == self.escape).unwrap_or(rest.len());
            fields.text.push_str(&rest[..end]);
            rest = &rest[end..];
            match self.escape.and_then(|escape| rest.strip_prefix(escape)) {
                Some(escaped) => rest = unescape(escaped, fields)?,
                None => return Ok(rest),
            }
        }
    }

    /// Reads a field from behind its opening quote up to its delimiter, and gives the rest. Blanks between the
    /// closing quote and the delimiter do not count.
    fn quoted<'a>(&self, text: &'a str, fields: &mut FieldTexts) -> Result<&'a str, Malformed> {
        let mut rest = text;
        loop {
            let Some(end) = rest.find(|c| Some(c) == self.quote || Some(c) == self.escape) else {
                return Err(Malformed::new(format!("the quote before '{}' is never closed", abridged(text))));
            };
            fields.text.push_str(&rest[..end]);
            rest = &rest[end..];
            if let Some(escaped) = self.escape.and_then(|escape| rest.strip_prefix(escape)) {
                rest = unescape(escaped, fields)?;
                continue;
            }
            let Some((quote, behind)) = self.quote.and_then(|quote| Some((quote, rest.strip_prefix(quote)?)))
            else {
                return Ok(rest);
            };
            match behind.strip_prefix(quote) {
                Some(doubled) => {
                    fields.text.push(quote);
                    rest = doubled;
                }
                None if behind.starts_with(self.delimiter) => return Ok(behind),
                None => return Ok(behind.trim_start_matches([' ', '\t'])),
            }
        }
    }
}

/// Reads the character behind an escape, and gives the rest.
fn unescape<'a>(escaped: &'a str, fields: &mut FieldTexts) -> Result<&'a str, Malformed> {
    let mut rest = escaped.chars();
    let character =
        rest.next().ok_or_else(|| Malformed::new("there is nothing behind an escape character"))?;
    fields.text.push(match character {
        '0' => '\0',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        other => other,
    });
    Ok(rest.as_str())
}

/// The fields of a record, without quotes and escapes. Kept from record to record for its memory.
#[derive(Debug, Default)]
pub(super) struct FieldTexts {
    text: String,
    ends: Vec<usize>,
}

impl FieldTexts {
    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    fn end_field(&mut self) {
        self.ends.push(self.text.len());
    }

    /// The number of fields.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The text of a field; `None` where there are not so many.
    pub(super) fn get(&self, index: usize) -> Option<&str> {
        let start = index.checked_sub(1).map_or(0, |before| self.ends.get(before).copied().unwrap_or(0));
        self.ends.get(index).map(|end| &self.text[start..*end])
    }
}
