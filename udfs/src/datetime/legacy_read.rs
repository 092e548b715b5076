//! Reading by patterns of `java.text.SimpleDateFormat`, leniently.

use super::calendar::{Date, LocalDateTime};
use super::legacy::{Element, LegacyPattern};
use super::print::{DAYS, MONTHS};

/// A time that was read, with the offset from UTC in seconds if the text had one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadTime {
    /// The wall-clock time.
    pub local: LocalDateTime,
    /// The offset from UTC in seconds.
    pub offset: Option<i64>,
}

/// What the fields of a pattern set; the rest is that of 1970-01-01 00:00:00.
struct Fields {
    year: i64,
    month: i64,
    day: i64,
    day_of_year: Option<i64>,
    hour: i64,
    half: Option<i64>,
    minute: i64,
    second: i64,
    millis: i64,
    before_christ: bool,
    offset: Option<i64>,
}

impl LegacyPattern {
    /// Reads a time from the start of a text, leniently: blanks in front of a field are skipped, fields out of range
    /// count on, and the text behind is ignored. `None` for a text of another form.
    ///
    /// A year of two digits for `yy` is taken for one of the years 1950 to 2049; Java takes the hundred years of
    /// which 80 are past.
    pub fn read(&self, text: &str) -> Option<ReadTime> {
        let mut fields = Fields {
            year: 1970,
            month: 1,
            day: 1,
            day_of_year: None,
            hour: 0,
            half: None,
            minute: 0,
            second: 0,
            millis: 0,
            before_christ: false,
            offset: None,
        };
        let mut rest = text;
        for (index, element) in self.elements.iter().enumerate() {
            match element {
                Element::Literal(letter) => rest = rest.strip_prefix(*letter)?,
                Element::Field(letter, count) => {
                    // of fields without anything between them each but the last takes just its digits
                    let adjacent = matches!(self.elements.get(index + 1), Some(Element::Field(next, width))
                        if !(matches!(next, 'G' | 'E' | 'a' | 'z' | 'Z' | 'X') || matches!(next, 'M' | 'L') && *width >= 3));
                    rest = fields.read(*letter, *count, adjacent, rest)?;
                }
            }
        }
        Some(ReadTime { local: fields.time(), offset: fields.offset })
    }
}

impl Fields {
    /// Reads a field and gives the text behind it.
    fn read<'a>(&mut self, letter: char, count: usize, adjacent: bool, text: &'a str) -> Option<&'a str> {
        let text = text.trim_start_matches([' ', '\t']);
        match letter {
            'M' | 'L' if count >= 3 => {
                let (index, rest) = name(&MONTHS, text)?;
                self.month = index as i64 + 1;
                return Some(rest);
            }
            'E' => return name(&DAYS, text).map(|(_, rest)| rest),
            'a' => {
                let (index, rest) = name(&["AM", "PM"], text)?;
                self.half = Some(index as i64);
                return Some(rest);
            }
            'G' => {
                let (index, rest) = name(&["BC", "AD"], text)?;
                self.before_christ = index == 0;
                return Some(rest);
            }
            'z' | 'Z' | 'X' => {
                let (offset, rest) = offset(text)?;
                self.offset = Some(offset);
                return Some(rest);
            }
            _ => {}
        }
        let sign = usize::from(text.starts_with('-'));
        let limit = if adjacent { count } else { usize::MAX };
        let digits = text[sign..].bytes().take(limit).take_while(u8::is_ascii_digit).count();
        if adjacent && digits < count {
            return None;
        }
        let (number, rest) = text.split_at(sign + digits);
        let value: i64 = number.parse::<i32>().ok()?.into();
        match letter {
            'y' | 'Y' if count <= 2 && digits == 2 && sign == 0 => {
                self.year = if value < 50 { 2000 + value } else { 1900 + value };
            }
            'y' | 'Y' => self.year = value,
            'M' | 'L' => self.month = value,
            'd' => self.day = value,
            'D' => self.day_of_year = Some(value),
            'H' => self.hour = value,
            'k' => self.hour = if value == 24 { 0 } else { value },
            'K' => self.hour = value,
            'h' => self.hour = if value == 12 { 0 } else { value },
            'm' => self.minute = value,
            's' => self.second = value,
            'S' => self.millis = value,
            // fields that do not say which day it is beside a date
            _ => {}
        }
        Some(rest)
    }

    fn time(&self) -> LocalDateTime {
        let year = if self.before_christ { 1 - self.year } else { self.year };
        let date = match self.day_of_year {
            Some(day) => Date { year, month: 1, day },
            None => Date { year, month: self.month, day: self.day },
        };
        let hour = self.hour + self.half.map_or(0, |half| half * 12);
        let seconds = (hour * 60 + self.minute) * 60 + self.second;
        LocalDateTime::new(date, (seconds * 1_000 + self.millis) * 1_000_000)
    }
}

/// The name, whole or its first three letters, that a text begins with in any case, and the text behind it.
fn name<'a>(names: &[&str], text: &'a str) -> Option<(usize, &'a str)> {
    let begins = |name: &str| text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    let whole = names.iter().position(|name| begins(name)).map(|index| (index, names[index].len()));
    let (index, length) = whole.or_else(|| {
        let short = |name: &&str| name.len() > 3 && begins(&name[..3]);
        names.iter().position(short).map(|index| (index, 3))
    })?;
    Some((index, &text[length..]))
}

/// `Z`, `UTC`, `GMT`, `+hhmm`, `+hh:mm` or `+hh`, also behind `UTC` or `GMT`, in seconds.
fn offset(text: &str) -> Option<(i64, &str)> {
    let named = ["UTC", "GMT", "Z"].iter().find_map(|name| text.strip_prefix(name));
    let rest = named.unwrap_or(text);
    let sign = match rest.bytes().next() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return named.map(|rest| (0, rest)),
    };
    let digits = |text: &str| {
        text.get(..2)?.bytes().all(|byte| byte.is_ascii_digit()).then(|| text[..2].parse::<i64>().ok())?
    };
    let hours = digits(&rest[1..])?;
    let rest = &rest[3..];
    let behind = rest.strip_prefix(':').unwrap_or(rest);
    Some(match digits(behind) {
        Some(minutes) => (sign * (hours * 60 + minutes) * 60, &behind[2..]),
        None => (sign * hours * 3_600, rest),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pattern: &str, text: &str) -> Option<String> {
        let time = LegacyPattern::parse(pattern).unwrap().read(text)?;
        let mut printed = String::new();
        LegacyPattern::parse("yyyy-MM-dd HH:mm:ss.SSS").unwrap().print(time.local, &mut printed);
        if let Some(offset) = time.offset {
            printed.push_str(&format!(" {offset:+}"));
        }
        Some(printed)
    }

    #[test]
    fn texts_are_read_leniently() {
        for (pattern, text, expected) in [
            ("dd/MM/yyyy", "29/02/2024", Some("2024-02-29 00:00:00.000")),
            ("yyyy-MM-dd HH:mm:ss", "2024-02-30 25:00:00 tail", Some("2024-03-02 01:00:00.000")),
            ("yyyy-MM-dd HH:mm:ss.SSSSSS", "2024-02-29 10:11:12.123456", Some("2024-02-29 10:13:15.456")),
            ("yyyyMMdd", "20240229", Some("2024-02-29 00:00:00.000")),
            ("yyyyMMdd", "2024022", Some("2024-02-02 00:00:00.000")),
            ("dd MMM yyyy", "29 Feb 2024", Some("2024-02-29 00:00:00.000")),
            ("d MMMM yy", "1 december 49", Some("2049-12-01 00:00:00.000")),
            ("yyyy-MM-dd'T'HH:mm", "2024-02-29T10:11", Some("2024-02-29 10:11:00.000")),
            ("h:mm a", "12:30 PM", Some("1970-01-01 12:30:00.000")),
            ("EEE yyyy-D", "Thu 2024-60", Some("2024-02-29 00:00:00.000")),
            ("HH:mm z", "10:11 GMT+02:00", Some("1970-01-01 10:11:00.000 +7200")),
            ("HH:mm X", "10:11 Z", Some("1970-01-01 10:11:00.000 +0")),
            ("yyyy", "", None),
            ("yyyy-MM-dd", "garbage", None),
            ("yyyy-MM-dd", "2024/02/29", None),
        ] {
            assert_eq!(read(pattern, text).as_deref(), expected, "{text} by {pattern}");
        }
    }
}
