//! JSON text: cut into the texts of its parts, without building a tree.
//!
//! serde_json checks the whole syntax and gives the raw text of each value; what a value means is left
//! to the column that takes it. Parts are kept as [`Span`]s so that a decoder allocates nothing per row.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::formats::Malformed;
use crate::formats::column::{Column, Fit, Value, abridged};
use crate::formats::number::{parse_float, write_float};

/// A part of a text. The empty span stands for a part that is not there: no JSON value is empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::formats) struct Span {
    start: usize,
    end: usize,
}

impl Span {
    /// The span of `part`, which must be a slice of `whole`.
    fn of(part: &str, whole: &str) -> Self {
        let start = part.as_ptr() as usize - whole.as_ptr() as usize;
        Span { start, end: start + part.len() }
    }

    /// The text of the part, or `None` where it is not there.
    pub(in crate::formats) fn get(self, whole: &str) -> Option<&str> {
        (self.start < self.end).then(|| &whole[self.start..self.end])
    }
}

/// The names of an object's fields that are wanted.
#[derive(Debug)]
pub(in crate::formats) struct FieldNames {
    names: Vec<String>,
    indices: HashMap<String, usize, ahash::RandomState>,
}

impl FieldNames {
    pub(in crate::formats) fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let indices = names.iter().enumerate().map(|(index, name)| (name.clone(), index)).collect();
        FieldNames { names, indices }
    }

    pub(in crate::formats) fn name(&self, index: usize) -> &str {
        self.names.get(index).map_or("", String::as_str)
    }

    /// Fields mostly come in the order of the columns, so the `expected` one is looked at first.
    fn index_of(&self, name: &str, expected: usize) -> Option<usize> {
        if self.names.get(expected).is_some_and(|expected| expected == name) {
            return Some(expected);
        }
        self.indices.get(name).copied()
    }

    /// Finds the values of the wanted fields of the object `text`: one span for each name. Of a field
    /// that is there twice, the last counts.
    pub(in crate::formats) fn find(&self, text: &str, spans: &mut Vec<Span>) -> Result<(), Malformed> {
        spans.clear();
        spans.resize(self.names.len(), Span::default());
        parse(text, |json| json.deserialize_map(ObjectVisitor { names: self, text, spans }))
    }
}

/// Finds the elements of the array `text`.
pub(in crate::formats) fn find_elements(text: &str, spans: &mut Vec<Span>) -> Result<(), Malformed> {
    spans.clear();
    parse(text, |json| json.deserialize_seq(ArrayVisitor { text, spans }))
}

/// Finds the keys (as texts, without quotes and escapes) and values of the object `text`. Of a key that
/// is there twice, the last value counts.
pub(in crate::formats) fn find_entries(text: &str) -> Result<Vec<(String, Span)>, Malformed> {
    parse(text, |json| json.deserialize_map(EntriesVisitor { text }))
}

type StrDeserializer<'a> = serde_json::Deserializer<serde_json::de::StrRead<'a>>;

/// Parses the whole of `text`.
fn parse<'a, T>(
    text: &'a str,
    visit: impl FnOnce(&mut StrDeserializer<'a>) -> serde_json::Result<T>,
) -> Result<T, Malformed> {
    let mut json = serde_json::Deserializer::from_str(text);
    visit(&mut json).and_then(|value| json.end().map(|()| value)).map_err(|error| {
        // The line that serde_json counts is always the first: only the column tells something
        let message = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let message = message.strip_suffix(&place).unwrap_or(&message);
        Malformed::new(format!("{message} at column {} of {}", error.column(), abridged(text)))
    })
}

struct ObjectVisitor<'a> {
    names: &'a FieldNames,
    text: &'a str,
    spans: &'a mut Vec<Span>,
}

impl<'de> Visitor<'de> for ObjectVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut expected = 0;
        while let Some(index) = map.next_key_seed(FieldIndex { names: self.names, expected })? {
            match index {
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
                Some(index) => {
                    let value: &RawValue = map.next_value()?;
                    self.spans[index] = Span::of(value.get(), self.text);
                    expected = index + 1;
                }
            }
        }
        Ok(())
    }
}

/// Reads the name of a field as the index of a wanted one.
struct FieldIndex<'a> {
    names: &'a FieldNames,
    expected: usize,
}

impl<'de> DeserializeSeed<'de> for FieldIndex<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for FieldIndex<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.names.index_of(name, self.expected))
    }
}

struct ArrayVisitor<'a> {
    text: &'a str,
    spans: &'a mut Vec<Span>,
}

impl<'de> Visitor<'de> for ArrayVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element::<&RawValue>()? {
            self.spans.push(Span::of(element.get(), self.text));
        }
        Ok(())
    }
}

struct EntriesVisitor<'a> {
    text: &'a str,
}

impl<'de> Visitor<'de> for EntriesVisitor<'_> {
    type Value = Vec<(String, Span)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries: Vec<(String, Span)> = vec![];
        let mut places: HashMap<String, usize> = HashMap::new();
        while let Some(key) = map.next_key::<String>()? {
            let value: &RawValue = map.next_value()?;
            let value = Span::of(value.get(), self.text);
            match places.entry(key) {
                Entry::Occupied(place) => entries[*place.get()].1 = value,
                Entry::Vacant(place) => {
                    entries.push((place.key().clone(), value));
                    place.insert(entries.len() - 1);
                }
            }
        }
        Ok(entries)
    }
}

/// Gives the value whose raw text is `raw` to `column`.
pub(in crate::formats) fn append(column: &mut dyn Column, raw: &str) -> Result<Fit, Malformed> {
    match raw.as_bytes() {
        [b'n', ..] => Ok(Fit::Null),
        [b't', ..] => column.append(Value::Boolean(true)),
        [b'f', ..] => column.append(Value::Boolean(false)),
        [b'{' | b'[', ..] => column.append(Value::Nested(raw)),
        [b'"', ..] => {
            let text = &raw[1..raw.len() - 1];
            if text.contains('\\') {
                column.append(Value::Text(&parse(raw, |json| String::deserialize(json))?))
            } else {
                column.append(Value::Text(text))
            }
        }
        _ => column.append(Value::Number(raw)),
    }
}

/// The end of the string whose opening quote is at `start`: behind its closing quote.
fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < text.len() {
        match text[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// The text of an array or object as Jackson writes it: without blanks between the tokens, with only the
/// escapes that are needed, and numbers that are not whole as a DOUBLE prints.
pub(in crate::formats) fn compact(text: &str) -> Result<String, Malformed> {
    let bytes = text.as_bytes();
    let mut compact = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'"' => end_of_string(bytes, at),
            b'-' | b'0'..=b'9' => end_of_number(bytes, at),
            _ => at + 1,
        };
        let part = &text[at..end];
        match bytes[at] {
            b'"' if part.contains('\\') => {
                let string = parse(part, |json| String::deserialize(json))?;
                serde_json::to_writer(&mut compact, &string)
                    .map_err(|error| Malformed::new(error.to_string()))?;
            }
            b'-' | b'0'..=b'9' if part.contains(['.', 'e', 'E']) => {
                write_float(parse_float::<f64>(part, "DOUBLE")?, &mut compact);
            }
            b' ' | b'\t' | b'\n' | b'\r' => {}
            _ => compact.extend_from_slice(part.as_bytes()),
        }
        at = end;
    }
    String::from_utf8(compact).map_err(|error| Malformed::new(error.to_string()))
}

fn end_of_number(text: &[u8], start: usize) -> usize {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    text[start..].iter().position(|byte| !is_part(byte)).map_or(text.len(), |len| start + len)
}

/// The text with the control characters in its strings written as escapes, which JSON demands but
/// Flink does not; `None` where there are none.
pub(in crate::formats) fn escape_control_characters(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut escaped = String::new();
    let (mut at, mut copied) = (0, 0);
    while at < bytes.len() {
        if bytes[at] != b'"' {
            at += 1;
            continue;
        }
        let end = end_of_string(bytes, at);
        for control in (at..end).filter(|control| bytes[*control] < b' ') {
            escaped.push_str(&text[copied..control]);
            escaped.push_str(&format!("\\u{:04x}", bytes[control]));
            copied = control + 1;
        }
        at = end;
    }
    if copied == 0 {
        return None;
    }
    escaped.push_str(&text[copied..]);
    Some(escaped)
}
