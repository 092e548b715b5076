//! JSON documents with numbers as they are written.

use std::collections::BTreeMap;

use crate::json::write_string;

/// A JSON value. Members are sorted by their name; of a name that comes twice the last counts.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    /// The digits as Java's `BigDecimal` shows them.
    Number(String),
    Text(String),
    Array(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

/// Deeper documents are refused.
const MAX_DEPTH: usize = 1_000;

impl Json {
    /// The document that a text is, `None` if it is none.
    pub(super) fn parse(text: &str) -> Option<Json> {
        let mut parser = Parser { text, at: 0 };
        let value = parser.value(0)?;
        parser.space();
        (parser.at == text.len()).then_some(value)
    }

    pub(super) fn is_scalar(&self) -> bool {
        !matches!(self, Json::Array(_) | Json::Object(_))
    }

    /// A scalar as plain text, others as JSON. `None` for null.
    pub(super) fn to_text(&self) -> Option<String> {
        match self {
            Json::Null => None,
            Json::Text(text) => Some(text.clone()),
            other => {
                let mut text = String::new();
                other.write(&mut text);
                Some(text)
            }
        }
    }

    /// Appends the value as JSON without spaces.
    pub(super) fn write(&self, text: &mut String) {
        match self {
            Json::Null => text.push_str("null"),
            Json::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
            Json::Number(digits) => text.push_str(digits),
            Json::Text(value) => write_string(value, text),
            Json::Array(items) => {
                text.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        text.push(',');
                    }
                    item.write(text);
                }
                text.push(']');
            }
            Json::Object(members) => {
                text.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    if index > 0 {
                        text.push(',');
                    }
                    write_string(name, text);
                    text.push(':');
                    value.write(text);
                }
                text.push('}');
            }
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Whether a byte comes next, behind space; then it is read.
    fn accept(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, word: &str, value: Json) -> Option<Json> {
        self.text.get(self.at..)?.starts_with(word).then(|| {
            self.at += word.len();
            value
        })
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.space();
        match self.peek()? {
            b'n' => self.word("null", Json::Null),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'"' => self.string().map(Json::Text),
            b'[' => self.array(depth),
            b'{' => self.object(depth),
            _ => self.number(),
        }
    }

    fn array(&mut self, depth: usize) -> Option<Json> {
        self.at += 1;
        let mut items = vec![];
        if self.accept(b']') {
            return Some(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.accept(b']') {
                return Some(Json::Array(items));
            }
            if !self.accept(b',') {
                return None;
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json> {
        self.at += 1;
        let mut members = BTreeMap::new();
        if self.accept(b'}') {
            return Some(Json::Object(members));
        }
        loop {
            self.space();
            let name = self.string()?;
            if !self.accept(b':') {
                return None;
            }
            members.insert(name, self.value(depth + 1)?);
            if self.accept(b'}') {
                return Some(Json::Object(members));
            }
            if !self.accept(b',') {
                return None;
            }
        }
    }

    /// A text in quotes, which serde_json reads.
    fn string(&mut self) -> Option<String> {
        if self.peek() != Some(b'"') {
            return None;
        }
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        serde_json::from_str(self.text.get(start..self.at)?).ok()
    }

    fn number(&mut self) -> Option<Json> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) {
            self.at += 1;
        }
        let digits = &self.text[start..self.at];
        // what JSON takes for a number is left to serde_json
        serde_json::from_str::<&serde_json::value::RawValue>(digits).ok()?;
        Some(Json::Number(match digits.find(['e', 'E']) {
            Some(e) => big_decimal(&digits[..e], digits[e + 1..].parse().ok()?),
            None => digits.to_owned(),
        }))
    }
}

/// A number with an exponent as Java's `BigDecimal` shows it: `1e5` is `1E+5`.
fn big_decimal(mantissa: &str, exponent: i64) -> String {
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let scale = fraction.len() as i64 - exponent;
    let digits = format!("{whole}{fraction}");
    let digits = match digits.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let adjusted = digits.len() as i64 - 1 - scale;
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    if scale > 0 && adjusted >= -6 {
        let padded = format!("{digits:0>width$}", width = scale as usize + 1);
        let (whole, fraction) = padded.split_at(padded.len() - scale as usize);
        return format!("{sign}{whole}.{fraction}");
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{first}{point}{rest}E{adjusted:+}")
}
