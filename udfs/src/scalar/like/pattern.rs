//! Patterns of LIKE.

use datafusion_common::Result;

use super::{escape_character, invalid_escape};

/// A pattern of LIKE: texts with `%` between them where there is no `_`, which are found as a whole.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// The text itself.
    Exact(String),
    /// A beginning, texts that follow in this order, and an end.
    Parts { first: String, inner: Vec<String>, last: String },
    /// With `_`.
    Steps(Vec<Step>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// This character.
    Letter(char),
    /// `_`
    One,
    /// `%`
    Any,
}

impl Pattern {
    /// Reads a pattern; an error for an escape character that stands before another than itself, `%` or `_`.
    pub(super) fn new(pattern: &str, escape: Option<&str>) -> Result<Self> {
        let escape = escape.map(escape_character).transpose()?;
        let mut steps = vec![];
        let mut letters = pattern.chars().enumerate();
        while let Some((at, letter)) = letters.next() {
            steps.push(match letter {
                letter if Some(letter) == escape => match letters.next() {
                    Some((_, next)) if next == '%' || next == '_' || next == letter => Step::Letter(next),
                    _ => return Err(invalid_escape(pattern, at)),
                },
                '%' => Step::Any,
                '_' => Step::One,
                letter => Step::Letter(letter),
            });
        }
        if steps.contains(&Step::One) {
            return Ok(Self::Steps(steps));
        }
        let mut parts = steps.split(|step| *step == Step::Any).map(|part| {
            let letters = part.iter().filter_map(|step| match step {
                Step::Letter(letter) => Some(*letter),
                _ => None,
            });
            letters.collect::<String>()
        });
        let first = parts.next().unwrap_or_default();
        let mut inner: Vec<_> = parts.collect();
        Ok(match inner.pop() {
            None => Self::Exact(first),
            Some(last) => {
                inner.retain(|part| !part.is_empty());
                Self::Parts { first, inner, last }
            }
        })
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        match self {
            Self::Exact(exact) => text == exact,
            Self::Parts { first, inner, last } => {
                let rest =
                    text.strip_prefix(first.as_str()).and_then(|rest| rest.strip_suffix(last.as_str()));
                let Some(mut rest) = rest else { return false };
                for part in inner {
                    match rest.split_once(part.as_str()) {
                        Some((_, behind)) => rest = behind,
                        None => return false,
                    }
                }
                true
            }
            Self::Steps(steps) => steps_match(steps, text),
        }
    }
}

/// Java's regular expressions, in which Flink evaluates patterns, have these line breaks.
fn is_line_break(letter: char) -> bool {
    matches!(letter, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether all steps match a text. After a mismatch the last `%` takes one more character.
fn steps_match(steps: &[Step], text: &str) -> bool {
    let (mut step, mut rest) = (0, text);
    let mut any: Option<(usize, &str)> = None;
    loop {
        let mut letters = rest.chars();
        let next = letters.next();
        let matches = match (steps.get(step), next) {
            (Some(Step::Any), _) => {
                any = Some((step, rest));
                step += 1;
                continue;
            }
            (None, None) => return true,
            (Some(Step::One), Some(letter)) => !is_line_break(letter),
            (Some(Step::Letter(wanted)), Some(letter)) => *wanted == letter,
            _ => false,
        };
        if matches {
            step += 1;
            rest = letters.as_str();
            continue;
        }
        let Some((last_any, from)) = &mut any else { return false };
        let mut letters = from.chars();
        if letters.next().is_none() {
            return false;
        }
        *from = letters.as_str();
        (step, rest) = (*last_any + 1, *from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("a%", "abc", true),
            ("%c", "abc", true),
            ("%b%", "abc", true),
            ("a%b%c", "a1b2c", true),
            ("aba%aba", "aba", false),
            ("aba%aba", "abaaba", true),
            ("%", "", true),
            ("", "", true),
            ("", "a", false),
            ("%%", "x", true),
            ("_", "漢", true),
            ("_", "", false),
            ("a_c", "abc", true),
            ("a_c", "a\nc", false),
            ("a%c", "a\nc", true),
            ("%_b", "aab", true),
            ("%a_%a_", "xabyabac", true),
            ("%a_%a_", "xab", false),
            ("a\\%", "a\\b", true),
        ] {
            let compiled = Pattern::new(pattern, None).unwrap();
            assert_eq!(compiled.matches(text), expected, "{text:?} LIKE {pattern:?}");
        }
    }

    #[test]
    fn escapes() {
        for (pattern, text, expected) in [
            ("a!%c", "a%c", true),
            ("a!%c", "abc", false),
            ("a!_%", "a_x", true),
            ("!!", "!", true),
            ("_!_", "x_", true),
        ] {
            let compiled = Pattern::new(pattern, Some("!")).unwrap();
            assert_eq!(compiled.matches(text), expected, "{text:?} LIKE {pattern:?} ESCAPE '!'");
        }
        for (pattern, escape) in [("a!b", "!"), ("a!", "!"), ("a", "!!"), ("a", "")] {
            let error = Pattern::new(pattern, Some(escape)).unwrap_err().to_string();
            assert!(error.contains("Invalid escape"), "{error}");
        }
    }

    #[test]
    fn steps_agree_with_parts() {
        let letters = ["a", "b", "%"];
        let words: Vec<String> =
            (0..243).map(|n: usize| (0..5).map(|i| letters[n / 3_usize.pow(i) % 3]).collect()).collect();
        for pattern in &words {
            let steps: Vec<_> =
                pattern.chars().map(|c| if c == '%' { Step::Any } else { Step::Letter(c) }).collect();
            let parts = Pattern::new(pattern, None).unwrap();
            for text in words.iter().map(|word| word.replace('%', "")) {
                assert_eq!(parts.matches(&text), steps_match(&steps, &text), "{text} LIKE {pattern}");
            }
        }
    }
}
