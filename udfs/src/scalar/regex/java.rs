//! Java's regular expressions in terms of the crates `regex` and `fancy_regex`.
//!
//! A pattern is translated where they read the same text differently from Java: `\d`, `\w` and `\s` are ASCII in
//! Java, `.` excludes all its line terminators, `$` also stands before the last one, `[[:alpha:]]` is a set in a set,
//! and `\Q…\E`, `\h`, `\v`, `\R`, `\uXXXX`, `\p{Alpha}` are Java's own.
//!
//! A pattern with look-around, references to groups, atomic groups or possessive quantifiers goes to `fancy_regex`,
//! which goes back as Java does, but not without end: a search of more than a million steps is an error. All others
//! take time in proportion to the text.
//!
//! What differs: `(?i)` folds the letters of all scripts (in Java ASCII without `(?u)`); `(?d)` is not known; names
//! of Unicode blocks (`\p{InGreek}`) and `\p{javaLowerCase}` are malformed.

use datafusion_common::Result;

use super::engine::{Captures, Engine};
use super::translate::translate;

/// A compiled pattern.
#[derive(Debug)]
pub(in crate::scalar) struct JavaRegex {
    engine: Engine,
    /// Whether `$` may stand before a line terminator at the end of a text.
    line_end: bool,
}

impl JavaRegex {
    /// `None` for a malformed pattern.
    pub(in crate::scalar) fn new(pattern: &str) -> Option<Self> {
        let translated = translate(pattern)?;
        let engine = Engine::new(&translated.pattern, translated.backtracks)?;
        Some(Self { engine, line_end: translated.line_end })
    }

    /// The text, without the line terminator at its end if the pattern is found so.
    fn searched<'a>(&self, text: &'a str) -> Result<&'a str> {
        if !self.line_end {
            return Ok(text);
        }
        let end_of_line = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];
        let stripped = text.strip_suffix("\r\n").or_else(|| text.strip_suffix(end_of_line));
        match stripped {
            Some(stripped) if self.engine.is_match(stripped)? => Ok(stripped),
            _ => Ok(text),
        }
    }

    /// The number of groups, without the whole match.
    pub(in crate::scalar) fn groups(&self) -> usize {
        self.engine.groups() - 1
    }

    /// Whether the pattern is found.
    pub(in crate::scalar) fn is_match(&self, text: &str) -> Result<bool> {
        self.engine.is_match(self.searched(text)?)
    }

    /// Where the pattern is first found.
    pub(in crate::scalar) fn find(&self, text: &str) -> Result<Option<(usize, usize)>> {
        self.engine.find(self.searched(text)?)
    }

    /// The groups of the first match.
    pub(in crate::scalar) fn captures<'a>(&self, text: &'a str) -> Result<Option<Captures<'a>>> {
        self.engine.captures_at(self.searched(text)?, 0)
    }

    /// Gives every match. As in Java an empty match may follow another one at once.
    pub(in crate::scalar) fn each<'a>(
        &self,
        text: &'a str,
        mut each: impl FnMut(&Captures<'a>) -> Result<()>,
    ) -> Result<()> {
        let text = self.searched(text)?;
        let mut at = 0;
        while at <= text.len() {
            let Some(captures) = self.engine.captures_at(text, at)? else { break };
            let (start, end) = captures.get(0).map_or((at, at), |whole| (whole.start(), whole.end()));
            each(&captures)?;
            at = end;
            if start == end {
                at += text[at..].chars().next().map_or(1, char::len_utf8);
            }
        }
        Ok(())
    }

    /// The parts between matches as Java's `String.split` has them: an empty match at the start does not split, and
    /// empty parts at the end are dropped.
    pub(in crate::scalar) fn split<'a>(&self, text: &'a str) -> Result<Vec<&'a str>> {
        let mut parts = vec![];
        let mut at = 0;
        self.each(text, |captures| {
            if let Some(found) = captures.get(0)
                && found.end() > 0
            {
                parts.push(&text[at..found.start()]);
                at = found.end();
            }
            Ok(())
        })?;
        if at == 0 {
            return Ok(vec![text]);
        }
        parts.push(&text[at..]);
        while parts.last().is_some_and(|part| part.is_empty()) {
            parts.pop();
        }
        Ok(parts)
    }
}

/// A pattern, read once as long as it stays the same.
#[derive(Default)]
pub(in crate::scalar) struct Patterns {
    known: Option<(String, Option<JavaRegex>)>,
}

impl Patterns {
    /// `None` for a malformed pattern.
    pub(in crate::scalar) fn get(&mut self, pattern: &str) -> Option<&JavaRegex> {
        if self.known.as_ref().is_none_or(|(known, _)| known != pattern) {
            self.known = Some((pattern.to_owned(), JavaRegex::new(pattern)));
        }
        self.known.as_ref().and_then(|(_, regex)| regex.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(pattern: &str, text: &str) -> Option<String> {
        let regex = JavaRegex::new(pattern).unwrap();
        regex.find(text).unwrap().map(|(start, end)| text[start..end].to_owned())
    }

    fn all(pattern: &str, text: &str) -> Vec<String> {
        let mut found = vec![];
        let regex = JavaRegex::new(pattern).unwrap();
        regex
            .each(text, |captures| {
                found.push(captures.get(0).unwrap().as_str().to_owned());
                Ok(())
            })
            .unwrap();
        found
    }

    #[test]
    fn classes_are_javas() {
        for (pattern, text, expected) in [
            (r"\d+", "٣12", Some("12")),
            (r"\w+", "é1_a", Some("1_a")),
            (r"[\w&&[^a]]+", "ab_c", Some("b_c")),
            ("[[:alpha:]]", "x:", Some(":")),
            ("[[:alpha:]]", "xyz", None),
            (r"\p{Alpha}+", "éab", Some("ab")),
            (r"[\p{Upper}x]+", "aBxÉ", Some("Bx")),
            (r"\p{IsAlphabetic}+", "1éa", Some("éa")),
            (r"\p{L}+", "1éa", Some("éa")),
            (r"\Qa.b\E.", "axb a.bc", Some("a.bc")),
            (r"\u0041\x42", "AB", Some("AB")),
            (r"[^\d]", "1a", Some("a")),
            ("[]a]+", "b]a", Some("]a")),
            ("[a~~b]", "~", Some("~")),
            (r"(?U)\d", "٣", Some("٣")),
        ] {
            assert_eq!(first(pattern, text).as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn lines_end_as_in_java() {
        assert_eq!(first("a.b", "a\rb"), None);
        assert_eq!(first("(?s)a.b", "a\rb").as_deref(), Some("a\rb"));
        assert_eq!(first("x(?s:.)y.", "x\ny\n"), None);
        assert_eq!(first("b$", "ab\n").as_deref(), Some("b"));
        assert_eq!(first("b$", "ab\nc"), None);
        assert_eq!(first("(?m)b$", "ab\nc").as_deref(), Some("b"));
        assert_eq!(first(r"b\z", "ab\n"), None);
        assert_eq!(first(r"[$]", "a$").as_deref(), Some("$"));
    }

    #[test]
    fn matches_follow_each_other() {
        assert_eq!(all("a*", "baac"), ["", "aa", "", ""]);
    }

    #[test]
    fn splits() {
        let split = |pattern: &str, text: &str| {
            let regex = JavaRegex::new(pattern).unwrap();
            regex.split(text).unwrap().into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(split(",", "a,,b,,"), ["a", "", "b"]);
        assert_eq!(split(",", ",a"), ["", "a"]);
        assert_eq!(split("", "ab"), ["a", "b"]);
        assert_eq!(split(",", "ab"), ["ab"]);
        assert!(split(",", ",,").is_empty());
    }

    #[test]
    fn what_looks_around_or_back() {
        assert_eq!(first("[a-z]+(?=[0-9])", "foo1").as_deref(), Some("foo"));
        assert_eq!(first("a(?!b)", "abac").as_deref(), Some("a"));
        assert_eq!(all("(?<=o)o", "fooo"), ["o", "o"]);
        assert_eq!(first(r"(.)\1", "abba").as_deref(), Some("bb"));
        assert_eq!(first(r"(?<x>.)\k<x>$", "abba\n"), None);
        assert_eq!(first(r"(?<x>.)\k<x>$", "abb\n").as_deref(), Some("bb"));
        assert_eq!(first("(?>a|ab)c", "abc"), None);
        assert_eq!(first("a++a", "aaa"), None);
        assert_eq!(first("[+*]+x", "*+x").as_deref(), Some("*+x"));
        assert_eq!(first(r"\++x", "++x").as_deref(), Some("++x"));
        assert_eq!(JavaRegex::new(r"(.)(?=(b))\1").unwrap().groups(), 2);
    }

    #[test]
    fn going_back_without_end_is_an_error() {
        let regex = JavaRegex::new(r"(a*)*\1(?=c)b").unwrap();
        let error = regex.is_match(&"a".repeat(100)).unwrap_err().to_string();
        assert!(error.contains("takes too many steps"), "{error}");
    }

    #[test]
    fn malformed_patterns() {
        for pattern in ["(", "[a", "a{2", r"\p{InGreek}", r"\", r"\1", "(?<=a", "*"] {
            assert!(JavaRegex::new(pattern).is_none(), "{pattern}");
        }
        assert_eq!(JavaRegex::new("(a)(?:b)(c)").unwrap().groups(), 2);
    }
}
