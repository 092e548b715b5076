//! The options of a table: what stands in its WITH clause.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::time::Duration;

use datafusion::common::utils::datafusion_strsim::levenshtein;
use datafusion::common::{Result, plan_err};

/// The options of one table, which remembers what has been asked for: a key that nobody knows is an
/// error, and the near ones are told.
#[derive(Debug)]
pub struct TableOptions<'a> {
    table: &'a str,
    options: &'a BTreeMap<String, String>,
    known: RefCell<BTreeSet<String>>,
}

impl<'a> TableOptions<'a> {
    /// The options of the table with this name.
    pub fn new(table: &'a str, options: &'a BTreeMap<String, String>) -> Self {
        TableOptions { table, options, known: RefCell::default() }
    }

    /// The name of the table, for messages.
    pub fn table(&self) -> &'a str {
        self.table
    }

    /// The value of an option.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.known.borrow_mut().insert(key.to_string());
        self.options.get(key).map(String::as_str)
    }

    /// The value of an option that must be there.
    pub fn require(&self, key: &str) -> Result<&'a str> {
        match self.get(key) {
            Some(value) => Ok(value),
            None => plan_err!(
                "table '{}' has no option '{key}'; add '{key}' = '…' to its WITH clause",
                self.table
            ),
        }
    }

    /// The value of a Boolean option: `true` or `false` in any case.
    pub fn boolean(&self, key: &str, default: bool) -> Result<bool> {
        match self.get(key) {
            None => Ok(default),
            Some(value) if value.eq_ignore_ascii_case("true") => Ok(true),
            Some(value) if value.eq_ignore_ascii_case("false") => Ok(false),
            Some(_) => self.invalid(key, "true or false"),
        }
    }

    /// The value of an option that is one of a few words, in any case.
    pub fn choice<T: Copy>(&self, key: &str, choices: &[(&str, T)], default: T) -> Result<T> {
        let Some(value) = self.get(key) else { return Ok(default) };
        match choices.iter().find(|(name, _)| name.eq_ignore_ascii_case(value)) {
            Some((_, choice)) => Ok(*choice),
            None => self.invalid(key, &one_of(choices.iter().map(|(name, _)| *name))),
        }
    }

    /// The value of an option that is one character; also Java's escapes (`\t`, `\u0001`) are.
    pub fn character(&self, key: &str, default: char) -> Result<char> {
        let Some(value) = self.get(key) else { return Ok(default) };
        let mut characters = value.chars();
        match (unescaped(value), characters.next(), characters.next()) {
            (Some(escaped), _, _) => Ok(escaped),
            (None, Some(character), None) => Ok(character),
            _ => self.invalid(key, "one character"),
        }
    }

    /// The value of an option that is a time span: `10 s`, `500ms`, `1 min`, and milliseconds without
    /// a unit.
    pub fn duration(&self, key: &str) -> Result<Option<Duration>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match parse_duration(value) {
            Some(duration) => Ok(Some(duration)),
            None => self.invalid(key, "a time span such as '10 s', '500 ms' or '1 min'"),
        }
    }

    /// The value of an option that is an amount of memory: `128mb`, `64 kb`, and bytes without a unit.
    pub fn memory_size(&self, key: &str) -> Result<Option<u64>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match parse_memory_size(value) {
            Some(size) => Ok(Some(size)),
            None => self.invalid(key, "an amount of memory such as '128mb'"),
        }
    }

    /// An error unless every option has been asked for.
    pub fn finish(&self) -> Result<()> {
        let known = self.known.borrow();
        let Some(unknown) = self.options.keys().find(|key| !known.contains(*key)) else { return Ok(()) };
        plan_err!(
            "table '{}' has the unknown option '{unknown}'; {}",
            self.table,
            suggestion(unknown, known.iter().map(String::as_str))
        )
    }

    /// The error for an option whose value is not what it should be.
    pub fn invalid<T>(&self, key: &str, expected: &str) -> Result<T> {
        let value = self.options.get(key).map_or("", String::as_str);
        plan_err!("the option '{key}' of table '{}' must be {expected}, not '{value}'", self.table)
    }
}

/// What a user may have meant by an unknown name: the near ones of `known`, or all of them.
pub fn suggestion<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let mut near: Vec<(usize, &str)> = known.iter().map(|name| (levenshtein(unknown, name), *name)).collect();
    near.retain(|(distance, name)| *distance <= (name.len().max(unknown.len()) / 3).max(2));
    near.sort();
    match near.as_slice() {
        [] => format!("known here: {}", known.join(", ")),
        near => format!("did you mean {}?", one_of(near.iter().take(3).map(|(_, name)| *name))),
    }
}

fn one_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("'{name}'")).collect::<Vec<_>>().join(" or ")
}

/// The character that an escape of Java's stands for.
fn unescaped(text: &str) -> Option<char> {
    match text.strip_prefix('\\')? {
        "t" => Some('\t'),
        "n" => Some('\n'),
        "r" => Some('\r'),
        "b" => Some('\u{8}'),
        "f" => Some('\u{c}'),
        "\\" => Some('\\'),
        "\"" => Some('"'),
        "'" => Some('\''),
        other => char::from_u32(u32::from_str_radix(other.strip_prefix('u')?, 16).ok()?),
    }
}

/// A number and its unit, in lower case.
fn number_and_unit(text: &str) -> Option<(u64, String)> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    Some((u64::from_str(number).ok()?, unit.trim().to_lowercase()))
}

/// An amount of memory in Flink's notation, in bytes.
fn parse_memory_size(text: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(text)?;
    let bytes = match unit.as_str() {
        "" | "b" | "bytes" => 1,
        "k" | "kb" | "kibibytes" => 1 << 10,
        "m" | "mb" | "mebibytes" => 1 << 20,
        "g" | "gb" | "gibibytes" => 1 << 30,
        "t" | "tb" | "tebibytes" => 1 << 40,
        _ => return None,
    };
    number.checked_mul(bytes)
}

/// A time span in Flink's notation.
fn parse_duration(text: &str) -> Option<Duration> {
    let (number, unit) = number_and_unit(text)?;
    let nanos = match unit.as_str() {
        "d" | "day" | "days" => 86_400_000_000_000,
        "h" | "hour" | "hours" => 3_600_000_000_000,
        "m" | "min" | "minute" | "minutes" => 60_000_000_000,
        "s" | "sec" | "second" | "seconds" => 1_000_000_000,
        "" | "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => 1_000_000,
        "us" | "µs" | "micro" | "micros" | "microsecond" | "microseconds" => 1_000,
        "ns" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => 1,
        _ => return None,
    };
    number.checked_mul(nanos).map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_spans() {
        for (text, millis) in [
            ("10 s", 10_000),
            ("500ms", 500),
            ("7", 7),
            (" 1 MIN ", 60_000),
            ("2 hours", 7_200_000),
            ("1 d", 86_400_000),
            ("0", 0),
        ] {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(parse_duration("1500 us"), Some(Duration::from_micros(1500)));
        for text in ["", "s", "1.5 s", "-1 s", "1 week", "99999999999999999999", "999999999999 d"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn amounts_of_memory() {
        assert_eq!(parse_memory_size("128MB"), Some(128 << 20));
        assert_eq!(parse_memory_size("64 kb"), Some(64 << 10));
        assert_eq!(parse_memory_size("7"), Some(7));
        for text in ["", "mb", "1.5mb", "1 px", "99999999999 tb"] {
            assert_eq!(parse_memory_size(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_near_is_suggested() {
        let known = ["path", "format", "connector"];
        assert_eq!(suggestion("paht", known.into_iter()), "did you mean 'path'?");
        assert_eq!(suggestion("zzzzzz", known.into_iter()), "known here: path, format, connector");
    }

    #[test]
    fn only_what_nobody_asked_for_is_unknown() {
        let options =
            BTreeMap::from([("path".to_string(), "x".to_string()), ("formatt".to_string(), "y".to_string())]);
        let options = TableOptions::new("t", &options);
        assert_eq!(options.get("path"), Some("x"));
        assert_eq!(options.get("format"), None);
        let error = options.finish().unwrap_err().to_string();
        assert!(error.contains("table 't'") && error.contains("did you mean 'format'?"), "{error}");
    }
}
