//! Patterns of SIMILAR TO.

use datafusion_common::{Result, exec_err};

use super::{escape_character, invalid_escape};

/// What an escape character may stand before, besides itself.
const SPECIAL: &str = "[]()|^-+*_%?{}";

/// Named classes, and what they are in Java.
const CLASSES: [(&str, &str); 8] = [
    ("[:ALPHA:]", r"\p{Alpha}"),
    ("[:UPPER:]", r"\p{Upper}"),
    ("[:LOWER:]", r"\p{Lower}"),
    ("[:DIGIT:]", r"\d"),
    ("[:SPACE:]", " "),
    ("[:WHITESPACE:]", r"\s"),
    ("[:ALNUM:]", r"\p{Alnum}"),
    ("[:alnum:]", r"\p{Alnum}"),
];

/// The regular expression of Java's for a whole text that a pattern stands for.
pub(super) fn regular_expression(pattern: &str, escape: Option<&str>) -> Result<String> {
    let escape = escape.map(escape_character).transpose()?;
    let mut result = String::with_capacity(pattern.len() + 16);
    result.push_str(r"\A(?:");
    let mut in_class = false;
    let mut rest = pattern;
    while let Some(letter) = rest.chars().next() {
        let at = pattern.len() - rest.len();
        if in_class && let Some((name, class)) = class(rest) {
            result.push_str(class);
            rest = &rest[name.len()..];
            continue;
        }
        rest = &rest[letter.len_utf8()..];
        match letter {
            letter if Some(letter) == escape => match rest.chars().next() {
                Some(next) if next == letter || SPECIAL.contains(next) => {
                    if next != '_' && next != '%' && SPECIAL.contains(next) || next == '\\' {
                        result.push('\\');
                    }
                    result.push(next);
                    rest = &rest[next.len_utf8()..];
                }
                _ => return Err(invalid_escape(pattern, at)),
            },
            ']' if in_class => {
                in_class = false;
                result.push(']');
            }
            ']' => return exec_err!("Invalid regular expression '{pattern}', {at}"),
            '-' | '^' if in_class => result.push(letter),
            letter if in_class && SPECIAL.contains(letter) => {
                return exec_err!("Invalid regular expression '{pattern}', {at}");
            }
            '[' => {
                in_class = true;
                result.push('[');
            }
            '_' => result.push('.'),
            '%' => result.push_str("(?s:.*)"),
            '\\' => result.push_str(r"\\"),
            '$' => result.push_str(r"\$"),
            other => result.push(other),
        }
    }
    if in_class {
        return exec_err!("Invalid regular expression '{pattern}': a class is not closed");
    }
    result.push_str(r")\z");
    Ok(result)
}

/// The named class that a text begins with.
fn class(text: &str) -> Option<(&'static str, &'static str)> {
    let upper = |name: &str| text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    CLASSES.into_iter().find(|(name, _)| upper(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::regex::JavaRegex;

    fn matches(text: &str, pattern: &str, escape: Option<&str>) -> bool {
        let regex = JavaRegex::new(&regular_expression(pattern, escape).unwrap()).unwrap();
        regex.is_match(text).unwrap()
    }

    #[test]
    fn patterns() {
        for (text, pattern, expected) in [
            ("abc", "abc", true),
            ("abc", "b", false),
            ("abc", "%b%", true),
            ("abc", "a_c", true),
            ("aac", "a+c", true),
            ("abcabc", "(abc){2}", true),
            ("abc", "abc|aac", true),
            ("abcd", "abc|aac", false),
            ("12-3", "[0-9]+-[0-9]+", true),
            ("1x", "[[:DIGIT:]]%", true),
            ("x1", "[^[:digit:]]_", true),
            ("abc", "a.c", true),
            ("a.c", r"a\.c", false),
            ("a\\xc", r"a\.c", true),
            ("a$", "a$", true),
            ("", "", true),
            ("x\ny", "x%y", true),
        ] {
            assert_eq!(matches(text, pattern, None), expected, "{text:?} SIMILAR TO {pattern:?}");
        }
        assert!(matches("a%b_c", "a!%b!_c", Some("!")));
        assert!(matches("a+", "a!+", Some("!")));
    }

    #[test]
    fn malformed_patterns() {
        for (pattern, escape) in [("a]", None), ("[a", None), ("[a(b]", None), ("a!x", Some("!"))] {
            assert!(regular_expression(pattern, escape).is_err(), "{pattern}");
        }
    }
}
