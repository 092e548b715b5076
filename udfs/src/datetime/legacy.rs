//! What Flink still does with `java.text.SimpleDateFormat`: lenient reading, and patterns of its own.

use datafusion_common::{Result, exec_err};

use super::calendar::{Date, LocalDateTime, day_of_week, week_of_year};
use super::print::{DAYS, MONTHS};

/// Reads `yyyy-MM-dd HH:mm:ss` from the start of a text, leniently: blanks before a number are skipped,
/// months, days and times out of range count on, and the text behind is ignored. `None` for a text of
/// another form.
pub fn parse_lenient(text: &str) -> Option<LocalDateTime> {
    let mut rest = text;
    let mut next = |behind: &str| -> Option<i64> {
        rest = rest.trim_start_matches([' ', '\t']);
        let sign = usize::from(rest.starts_with('-'));
        let length = sign + rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at(length);
        rest = after.strip_prefix(behind)?;
        number.parse::<i32>().ok().map(i64::from)
    };
    let date = Date { year: next("-")?, month: next("-")?, day: next(" ")? };
    let seconds = (next(":")? * 60 + next(":")?) * 60 + next("")?;
    Some(LocalDateTime::new(date, seconds * 1_000_000_000))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Element {
    Literal(char),
    Field(char, usize),
}

/// A pattern of `SimpleDateFormat`. It differs from those of [`Pattern`](super::Pattern) in some
/// letters: `S` are milliseconds, `u` is the number of the day of the week from Monday.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyPattern {
    pub(super) elements: Vec<Element>,
}

impl LegacyPattern {
    /// Reads a pattern. An error in Java's words where it is none.
    pub fn parse(pattern: &str) -> Result<Self> {
        let mut elements = Vec::new();
        let mut letters = pattern.chars().peekable();
        let mut in_quotes = false;
        while let Some(letter) = letters.next() {
            match letter {
                '\'' if letters.next_if_eq(&'\'').is_some() => elements.push(Element::Literal('\'')),
                '\'' => in_quotes = !in_quotes,
                'a'..='z' | 'A'..='Z' if !in_quotes => {
                    if !"GyYMLwWDdFEuaHkKhmsSzZX".contains(letter) {
                        return exec_err!("Illegal pattern character '{letter}'");
                    }
                    let mut count = 1;
                    while letters.next_if_eq(&letter).is_some() {
                        count += 1;
                    }
                    elements.push(Element::Field(letter, count));
                }
                other => elements.push(Element::Literal(other)),
            }
        }
        if in_quotes {
            return exec_err!("Unterminated quote in the pattern {pattern}");
        }
        Ok(Self { elements })
    }

    /// Appends a time of UTC in the form of the pattern.
    pub fn print(&self, time: LocalDateTime, text: &mut String) {
        for element in &self.elements {
            match element {
                Element::Literal(letter) => text.push(*letter),
                Element::Field(letter, count) => field(text, time, *letter, *count),
            }
        }
    }
}

fn field(text: &mut String, time: LocalDateTime, letter: char, count: usize) {
    let date = time.date();
    let second = time.nanos / 1_000_000_000;
    let hour = second / 3_600;
    let (week_year, week) = week_of_year(time.days);
    let name = |names: &[&str], index: i64| {
        let name =
            usize::try_from(index).ok().and_then(|index| names.get(index)).copied().unwrap_or_default();
        if count >= 4 { name.to_owned() } else { name.chars().take(3).collect() }
    };
    let number = match letter {
        'G' => return text.push_str(if date.year > 0 { "AD" } else { "BC" }),
        'M' | 'L' if count >= 3 => return text.push_str(&name(&MONTHS, date.month - 1)),
        'E' => return text.push_str(&name(&DAYS, day_of_week(time.days))),
        'a' => return text.push_str(if hour < 12 { "AM" } else { "PM" }),
        'z' => return text.push_str(if count >= 4 { "Coordinated Universal Time" } else { "UTC" }),
        'Z' => return text.push_str("+0000"),
        'X' => return text.push('Z'),
        'y' if count == 2 => date.year.rem_euclid(100),
        'Y' if count == 2 => week_year.rem_euclid(100),
        'y' => {
            if date.year > 0 {
                date.year
            } else {
                1 - date.year
            }
        }
        'Y' => week_year,
        'M' | 'L' => date.month,
        'd' => date.day,
        'D' => date.day_of_year(),
        'w' => week,
        'W' => (date.day - 1 + day_of_week(time.days - date.day + 1)) / 7 + 1,
        'F' => (date.day - 1) / 7 + 1,
        'u' => (day_of_week(time.days) + 6) % 7 + 1,
        'H' => hour,
        'k' => {
            if hour == 0 {
                24
            } else {
                hour
            }
        }
        'K' => hour % 12,
        'h' => {
            if hour % 12 == 0 {
                12
            } else {
                hour % 12
            }
        }
        'm' => second / 60 % 60,
        's' => second % 60,
        _ => time.nanos / 1_000_000 % 1_000,
    };
    text.push_str(&format!("{number:0>count$}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(text: &str, pattern: &str) -> String {
        let Some(time) = parse_lenient(text) else { return "NULL".to_owned() };
        let mut printed = String::new();
        LegacyPattern::parse(pattern).unwrap().print(time, &mut printed);
        printed
    }

    #[test]
    fn reads_leniently() {
        for (text, pattern, expected) in [
            ("2024-02-09 13:05:07", "dd.MM.yyyy", "09.02.2024"),
            ("2024-02-30 10:11:12", "yyyy-MM-dd HH:mm:ss.SSS", "2024-03-01 10:11:12.000"),
            ("2024-2-8 1:2:3 rest", "yyyy-MM-dd HH:mm:ss u", "2024-02-08 01:02:03 4"),
            (" 2024-02-08 01:02:03", "yyyy", "2024"),
            ("2024-02-08 25:61:00", "dd HH:mm", "09 02:01"),
            ("2024-02-28", "yyyy", "NULL"),
            ("not a time", "yyyy", "NULL"),
            ("", "yyyy", "NULL"),
        ] {
            assert_eq!(print(text, pattern), expected, "{text}");
        }
    }

    #[test]
    fn prints_by_its_own_letters() {
        let text = "2024-02-09 13:05:07";
        for (pattern, expected) in [
            ("EEE d MMM yy", "Fri 9 Feb 24"),
            ("EEEE MMMM G", "Friday February AD"),
            ("h:mm a 'o''clock' ''", "1:05 PM o'clock '"),
            ("w W D F k K", "6 2 40 2 13 1"),
            ("z Z X", "UTC +0000 Z"),
        ] {
            assert_eq!(print(text, pattern), expected, "{pattern}");
        }
        assert!(LegacyPattern::parse("b").is_err());
        assert!(LegacyPattern::parse("'b").is_err());
    }
}
