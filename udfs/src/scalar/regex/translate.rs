//! Java's patterns spelled for the crates `regex` and `fancy_regex`.

use std::iter::Peekable;
use std::str::Chars;

/// A pattern for the crate.
pub(super) struct Translated {
    /// Its text.
    pub(super) pattern: String,
    /// Whether it has a `$` that may also stand before a last line terminator.
    pub(super) line_end: bool,
    /// Whether it has a possessive quantifier, such as `a++`, which the crate `regex` would read as one in another.
    pub(super) backtracks: bool,
}

const NOT_END_OF_LINE: &str = r"[^\n\r\x{85}\x{2028}\x{2029}]";

/// Translates a pattern; `None` for what is malformed or not known here.
pub(super) fn translate(pattern: &str) -> Option<Translated> {
    let mut translator = Translator {
        rest: pattern.chars().peekable(),
        pattern: String::with_capacity(pattern.len() * 2),
        line_end: false,
        backtracks: false,
        flags: vec![Flags::default()],
    };
    translator.run()?;
    let Translator { pattern, line_end, backtracks, .. } = translator;
    Some(Translated { pattern, line_end, backtracks })
}

/// The flags that change what is translated.
#[derive(Debug, Clone, Copy, Default)]
struct Flags {
    /// `s`: a dot is any character.
    all: bool,
    /// `m`: `^` and `$` stand at every line.
    lines: bool,
    /// `U`: classes are Unicode's.
    unicode: bool,
}

struct Translator<'a> {
    rest: Peekable<Chars<'a>>,
    pattern: String,
    line_end: bool,
    backtracks: bool,
    /// Those of the groups that are open, the innermost last.
    flags: Vec<Flags>,
}

impl Translator<'_> {
    fn push(&mut self, text: &str) {
        self.pattern.push_str(text);
    }

    fn push_char(&mut self, letter: char) {
        self.pattern.push(letter);
    }

    /// A character that means itself.
    fn push_literal(&mut self, letter: char) {
        if letter.is_ascii_punctuation() {
            self.push_char('\\');
        }
        self.push_char(letter);
    }

    fn flags(&self) -> Flags {
        self.flags.last().copied().unwrap_or_default()
    }

    fn run(&mut self) -> Option<()> {
        // whether a quantifier has just been read
        let mut quantified = false;
        while let Some(letter) = self.rest.next() {
            self.backtracks |= quantified && letter == '+';
            quantified = !quantified && matches!(letter, '*' | '+' | '?' | '{');
            match letter {
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '.' if !self.flags().all => self.push(NOT_END_OF_LINE),
                '$' if !self.flags().lines => {
                    self.push(r"\z");
                    self.line_end = true;
                }
                '(' => self.group()?,
                '{' => self.repetition()?,
                ')' => {
                    if self.flags.len() > 1 {
                        self.flags.pop();
                    }
                    self.push_char(')');
                }
                other => self.push_char(other),
            }
        }
        Some(())
    }

    /// `{n}`, `{n,}` or `{n,m}`: to Java a `{` is nothing else.
    fn repetition(&mut self) -> Option<()> {
        let mut counts = String::new();
        loop {
            match self.rest.next()? {
                '}' => break,
                other => counts.push(other),
            }
        }
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let (least, most) = counts.split_once(',').unwrap_or((&counts, ""));
        if least.is_empty() || !is_number(least) || !is_number(most) {
            return None;
        }
        self.push_char('{');
        self.push(&counts);
        self.push_char('}');
        Some(())
    }

    /// `(`, and the flags behind `(?`.
    fn group(&mut self) -> Option<()> {
        self.push_char('(');
        let mut flags = self.flags();
        if self.rest.peek() != Some(&'?') {
            self.flags.push(flags);
            return Some(());
        }
        self.rest.next();
        self.push_char('?');
        if !self.rest.peek().is_some_and(|next| next.is_ascii_alphabetic() || *next == '-') {
            self.flags.push(flags);
            return Some(());
        }
        let (mut on, mut kept) = (true, String::new());
        loop {
            match self.rest.next()? {
                '-' => {
                    on = false;
                    kept.push('-');
                }
                's' => {
                    flags.all = on;
                    kept.push('s');
                }
                'm' => {
                    flags.lines = on;
                    kept.push('m');
                }
                'U' => flags.unicode = on,
                'u' | 'd' => {}
                letter @ ('i' | 'x') => kept.push(letter),
                end @ (')' | ':') => {
                    let kept = kept.trim_end_matches('-');
                    if end == ')' {
                        // the flags hold up to the end of the group around
                        if let Some(current) = self.flags.last_mut() {
                            *current = flags;
                        }
                        if kept.is_empty() {
                            self.push(":");
                        }
                    } else {
                        self.flags.push(flags);
                    }
                    self.push(kept);
                    self.push_char(end);
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// What stands behind a backslash.
    fn escape(&mut self, in_class: bool) -> Option<()> {
        let letter = self.rest.next()?;
        let unicode = self.flags().unicode;
        match letter {
            'd' if !unicode => self.push("[0-9]"),
            'D' if !unicode => self.push("[^0-9]"),
            'w' if !unicode => self.push("[a-zA-Z0-9_]"),
            'W' if !unicode => self.push("[^a-zA-Z0-9_]"),
            's' if !unicode => self.push(r"[ \t\n\x0B\x0C\r]"),
            'S' if !unicode => self.push(r"[^ \t\n\x0B\x0C\r]"),
            'h' => self.push(r"[ \t\x{A0}\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}]"),
            'H' => self.push(r"[^ \t\x{A0}\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}]"),
            'v' => self.push(r"[\n\x0B\x0C\r\x{85}\x{2028}\x{2029}]"),
            'V' => self.push(r"[^\n\x0B\x0C\r\x{85}\x{2028}\x{2029}]"),
            'R' if !in_class => self.push(r"(?:\r\n|[\n\x0B\x0C\r\x{85}\x{2028}\x{2029}])"),
            'Z' if !in_class => {
                self.push(r"\z");
                self.line_end = true;
            }
            'Q' => loop {
                match self.rest.next() {
                    None => break,
                    Some('\\') if self.rest.peek() == Some(&'E') => {
                        self.rest.next();
                        break;
                    }
                    Some(letter) => self.push_literal(letter),
                }
            },
            'u' => {
                let digits: String =
                    (0..4).map_while(|_| self.rest.next_if(char::is_ascii_hexdigit)).collect();
                if digits.len() != 4 {
                    return None;
                }
                self.push(&format!(r"\x{{{digits}}}"));
            }
            'e' => self.push(r"\x1B"),
            'c' => {
                let control = u32::from(self.rest.next()?) ^ 64;
                self.push(&format!(r"\x{{{control:X}}}"));
            }
            '0' => {
                let mut value = 0;
                let mut digits = 0;
                while digits < 3
                    && let Some(digit) = self.rest.peek().and_then(|next| next.to_digit(8))
                    && value * 8 + digit <= 0o377
                {
                    value = value * 8 + digit;
                    digits += 1;
                    self.rest.next();
                }
                if digits == 0 {
                    return None;
                }
                self.push(&format!(r"\x{{{value:X}}}"));
            }
            'p' | 'P' => self.property(letter == 'P')?,
            other => {
                self.push_char('\\');
                self.push_char(other);
            }
        }
        Some(())
    }

    /// `\p{name}`, of which `\p` has been read.
    fn property(&mut self, negated: bool) -> Option<()> {
        let name = match self.rest.next()? {
            '{' => {
                let mut name = String::new();
                loop {
                    match self.rest.next()? {
                        '}' => break name,
                        letter => name.push(letter),
                    }
                }
            }
            letter => letter.to_string(),
        };
        let posix = match name.as_str() {
            "Lower" => Some("a-z"),
            "Upper" => Some("A-Z"),
            "ASCII" => Some(r"\x00-\x7F"),
            "Alpha" => Some("a-zA-Z"),
            "Digit" => Some("0-9"),
            "Alnum" => Some("a-zA-Z0-9"),
            "Punct" => Some(r"!-/:-@\[-`{-~"),
            "Graph" => Some("!-~"),
            "Print" => Some(" -~"),
            "Blank" => Some(r" \t"),
            "Cntrl" => Some(r"\x00-\x1F\x7F"),
            "XDigit" => Some("0-9a-fA-F"),
            "Space" => Some(r" \t\n\x0B\x0C\r"),
            _ => None,
        };
        if let Some(posix) = posix {
            self.push(if negated { "[^" } else { "[" });
            self.push(posix);
            self.push("]");
            return Some(());
        }
        if name.starts_with("In") || name.starts_with("java") {
            return None;
        }
        let name = name.strip_prefix("Is").unwrap_or(&name).to_owned();
        self.push(if negated { r"\P{" } else { r"\p{" });
        self.push(&name);
        self.push("}");
        Some(())
    }

    /// A class, of which `[` has been read.
    fn class(&mut self) -> Option<()> {
        self.push_char('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.push_char('^');
        }
        if self.rest.next_if_eq(&']').is_some() {
            self.push(r"\]");
        }
        loop {
            match self.rest.next()? {
                ']' => {
                    self.push_char(']');
                    return Some(());
                }
                '[' => self.class()?,
                '\\' => self.escape(true)?,
                // set operators and POSIX names are not Java's
                letter @ (':' | '~') => self.push_literal(letter),
                '-' if self.rest.peek() == Some(&'-') => self.push(r"\-"),
                other => self.push_char(other),
            }
        }
    }
}
