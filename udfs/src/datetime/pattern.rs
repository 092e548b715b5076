//! The patterns of `java.time.format.DateTimeFormatter`.

use super::calendar::LocalDateTime;
use datafusion_common::{Result, exec_err};

/// A part of a date or time that a pattern shows as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Field {
    Year,
    YearOfEra,
    WeekBasedYear,
    Quarter,
    Month,
    Day,
    DayOfYear,
    AlignedDayOfWeekInMonth,
    WeekOfYear,
    WeekOfMonth,
    /// From 1, which is Sunday.
    DayOfWeek,
    /// From here on parts of the time of day.
    HourOfDay,
    /// From 1 to 24.
    ClockHourOfDay,
    HourOfAmPm,
    /// From 1 to 12.
    ClockHourOfAmPm,
    Minute,
    Second,
    MilliOfDay,
    NanoOfSecond,
    NanoOfDay,
}

/// How the sign of a number is shown and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// A minus before a negative number.
    Normal,
    /// A minus before a negative number, a plus before one with more digits than the least.
    ExceedsPad,
    /// None.
    Never,
}

/// A name instead of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Era,
    Quarter,
    Month,
    DayOfWeek,
    AmPm,
}

/// How long a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Short,
    Full,
    Narrow,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Element {
    Literal(String),
    Number {
        field: Field,
        min: usize,
        max: usize,
        sign: Sign,
        /// Digits that belong to the numbers right behind this one.
        reserved: usize,
    },
    /// The last two digits of a year from 2000 to 2099.
    TwoDigitYear(Field),
    /// The first digits of the nanoseconds.
    Fraction(usize),
    Named(Name, Length),
    /// An offset from UTC with the letters that tell its form. Wall-clock times have none.
    Offset(char, usize),
    OptionalStart,
    OptionalEnd,
}

/// A pattern such as `yyyy-MM-dd HH:mm:ss`, with the meaning and the English names of Java's
/// `DateTimeFormatter`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    pub(super) elements: Vec<Element>,
}

impl Pattern {
    /// What the pattern shows of a time: times of which that is equal look the same.
    pub fn shown_part(&self, time: LocalDateTime) -> LocalDateTime {
        let shows_time_of_day = self.elements.iter().any(|element| match element {
            Element::Number { field, .. } | Element::TwoDigitYear(field) => *field >= Field::HourOfDay,
            Element::Fraction(_) | Element::Named(Name::AmPm, _) | Element::Offset(..) => true,
            _ => false,
        });
        if shows_time_of_day { time } else { LocalDateTime { nanos: 0, ..time } }
    }

    /// Reads a pattern. An error in Java's words where it is none.
    pub fn parse(pattern: &str) -> Result<Self> {
        let mut elements = Vec::new();
        let mut letters = pattern.chars().peekable();
        let mut depth = 0;
        while let Some(letter) = letters.next() {
            match letter {
                'a'..='z' | 'A'..='Z' => {
                    let mut count = 1;
                    while letters.next_if_eq(&letter).is_some() {
                        count += 1;
                    }
                    elements.push(element(letter, count)?);
                }
                '\'' => literal(&mut elements, &quoted(&mut letters, pattern)?),
                '[' => {
                    depth += 1;
                    elements.push(Element::OptionalStart);
                }
                ']' => {
                    if depth == 0 {
                        return exec_err!("Pattern invalid as it contains ] without previous [: {pattern}");
                    }
                    depth -= 1;
                    elements.push(Element::OptionalEnd);
                }
                '{' | '}' | '#' => return exec_err!("Pattern includes reserved character: '{letter}'"),
                other => literal(&mut elements, other.encode_utf8(&mut [0; 4])),
            }
        }
        elements.extend(std::iter::repeat_n(Element::OptionalEnd, depth));
        reserve_digits(&mut elements);
        Ok(Self { elements })
    }
}

/// The text up to the closing quote; two quotes stand for one.
fn quoted(letters: &mut std::iter::Peekable<std::str::Chars<'_>>, pattern: &str) -> Result<String> {
    let mut text = String::new();
    loop {
        match letters.next() {
            Some('\'') if letters.next_if_eq(&'\'').is_some() => text.push('\''),
            Some('\'') => break,
            Some(letter) => text.push(letter),
            None => return exec_err!("Pattern ends with an incomplete string literal: {pattern}"),
        }
    }
    // an empty text is a quote of its own
    Ok(if text.is_empty() { "'".to_owned() } else { text })
}

fn literal(elements: &mut Vec<Element>, text: &str) {
    match elements.last_mut() {
        Some(Element::Literal(literal)) => literal.push_str(text),
        _ => elements.push(Element::Literal(text.to_owned())),
    }
}

fn element(letter: char, count: usize) -> Result<Element> {
    use Length::{Full, Narrow, Short};
    let number = |field, min, max, sign| Element::Number { field, min, max, sign, reserved: 0 };
    // one letter: any number of digits; two: just two
    let up_to_two = |field| match count {
        1 => Some(number(field, 1, 19, Sign::Normal)),
        2 => Some(number(field, 2, 2, Sign::Never)),
        _ => None,
    };
    let year = |field| match count {
        2 => Element::TwoDigitYear(field),
        1 | 3 => number(field, count, 19, Sign::Normal),
        _ => number(field, count, 19, Sign::ExceedsPad),
    };
    let named = |name| match count {
        1..=3 => Some(Element::Named(name, Short)),
        4 => Some(Element::Named(name, Full)),
        5 => Some(Element::Named(name, Narrow)),
        _ => None,
    };
    let number_or_name = |field, name| if count <= 2 { up_to_two(field) } else { named(name) };
    let element = match letter {
        'u' if count <= 19 => Some(year(Field::Year)),
        'y' if count <= 19 => Some(year(Field::YearOfEra)),
        'Y' if count <= 19 => Some(year(Field::WeekBasedYear)),
        'G' => named(Name::Era),
        'Q' | 'q' => number_or_name(Field::Quarter, Name::Quarter),
        'M' | 'L' => number_or_name(Field::Month, Name::Month),
        'd' => up_to_two(Field::Day),
        'D' => match count {
            1 => Some(number(Field::DayOfYear, 1, 19, Sign::Normal)),
            2 | 3 => Some(number(Field::DayOfYear, count, 3, Sign::Never)),
            _ => None,
        },
        'F' if count == 1 => up_to_two(Field::AlignedDayOfWeekInMonth),
        'w' => up_to_two(Field::WeekOfYear),
        'W' if count == 1 => up_to_two(Field::WeekOfMonth),
        'E' => named(Name::DayOfWeek),
        'e' | 'c' if count != 2 || letter == 'e' => number_or_name(Field::DayOfWeek, Name::DayOfWeek),
        'a' if count == 1 => Some(Element::Named(Name::AmPm, Short)),
        'H' => up_to_two(Field::HourOfDay),
        'k' => up_to_two(Field::ClockHourOfDay),
        'K' => up_to_two(Field::HourOfAmPm),
        'h' => up_to_two(Field::ClockHourOfAmPm),
        'm' => up_to_two(Field::Minute),
        's' => up_to_two(Field::Second),
        'S' if count <= 9 => Some(Element::Fraction(count)),
        'A' if count <= 19 => Some(number(Field::MilliOfDay, count, 19, Sign::Never)),
        'n' if count <= 19 => Some(number(Field::NanoOfSecond, count, 19, Sign::Never)),
        'N' if count <= 19 => Some(number(Field::NanoOfDay, count, 19, Sign::Never)),
        'X' | 'x' | 'Z' if count <= 5 => Some(Element::Offset(letter, count)),
        'z' | 'O' if count <= 4 => Some(Element::Offset(letter, count)),
        'V' if count == 2 => Some(Element::Offset(letter, count)),
        'u' | 'y' | 'Y' | 'F' | 'W' | 'e' | 'c' | 'a' | 'S' | 'A' | 'n' | 'N' | 'X' | 'x' | 'Z' | 'z'
        | 'O' | 'V' => None,
        _ => return exec_err!("Unknown pattern letter: {letter}"),
    };
    match element {
        Some(element) => Ok(element),
        None => exec_err!("Too many pattern letters: {letter}"),
    }
}

/// Numbers without anything between them share their digits: the first one takes what those behind
/// it, which have fixed widths, leave over.
fn reserve_digits(elements: &mut [Element]) {
    let mut first = None;
    for at in 0..elements.len() {
        let width = match &elements[at] {
            Element::Number { min, max, .. } if min == max => Some(*min),
            Element::Fraction(digits) => Some(*digits),
            Element::TwoDigitYear(_) => Some(2),
            Element::Number { .. } => {
                first = Some(at);
                continue;
            }
            _ => None,
        };
        match (first, width) {
            (Some(first), Some(width)) => {
                if let Element::Number { reserved, .. } = &mut elements[first] {
                    *reserved += width;
                }
            }
            _ => first = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_are_none() {
        for (pattern, message) in [
            ("yyyy b", "Unknown pattern letter: b"),
            ("ddd", "Too many pattern letters: d"),
            ("SSSSSSSSSS", "Too many pattern letters: S"),
            ("aa", "Too many pattern letters: a"),
            ("yyyy]", "contains ] without previous ["),
            ("'yyyy", "incomplete string literal"),
            ("{yyyy}", "reserved character"),
        ] {
            let error = Pattern::parse(pattern).unwrap_err().to_string();
            assert!(error.contains(message), "{pattern}: {error}");
        }
    }

    #[test]
    fn adjacent_numbers_reserve_digits() {
        let pattern = Pattern::parse("yyyyMMddHHmmssSSS").unwrap();
        let Element::Number { reserved, .. } = pattern.elements[0] else { panic!("no number") };
        assert_eq!(reserved, 2 + 2 + 2 + 2 + 2 + 3);
        let pattern = Pattern::parse("yyyy-MMdd").unwrap();
        assert!(
            !pattern.elements.iter().any(|element| matches!(element, Element::Number { reserved: 1.., .. }))
        );
    }
}
