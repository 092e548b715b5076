//! Times as text by a pattern.

use std::fmt::Write;

use datafusion_common::{Result, exec_err};

use super::calendar::{Date, LocalDateTime, day_of_week, week_of_year};
use super::pattern::{Element, Field, Length, Name, Pattern, Sign};

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// From Sunday.
pub(super) const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const QUARTERS: [&str; 4] = ["1st quarter", "2nd quarter", "3rd quarter", "4th quarter"];

/// The texts of a name, in the order of its values.
pub(super) fn texts(name: Name, length: Length) -> Vec<String> {
    let cut = |names: &[&str], letters: usize| names.iter().map(|name| name[..letters].to_owned()).collect();
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    match (name, length) {
        (Name::Month, Length::Short) => cut(&MONTHS, 3),
        (Name::Month, Length::Full) => own(&MONTHS),
        (Name::Month, Length::Narrow) => cut(&MONTHS, 1),
        (Name::DayOfWeek, Length::Short) => cut(&DAYS, 3),
        (Name::DayOfWeek, Length::Full) => own(&DAYS),
        (Name::DayOfWeek, Length::Narrow) => cut(&DAYS, 1),
        (Name::Quarter, Length::Short) => own(&["Q1", "Q2", "Q3", "Q4"]),
        (Name::Quarter, Length::Full) => own(&QUARTERS),
        (Name::Quarter, Length::Narrow) => cut(&QUARTERS, 1),
        (Name::Era, Length::Short) => own(&["BC", "AD"]),
        (Name::Era, Length::Full) => own(&["Before Christ", "Anno Domini"]),
        (Name::Era, Length::Narrow) => own(&["B", "A"]),
        (Name::AmPm, _) => own(&["AM", "PM"]),
    }
}

/// Appends `yyyy-MM-dd HH:mm:ss` with a separator between date and time, and a fraction of so many digits (0 to 9).
pub fn write_date_time(time: LocalDateTime, separator: char, digits: usize, text: &mut String) {
    let date = time.date();
    let seconds = time.nanos / 1_000_000_000;
    // writing to a String cannot fail
    let _ = write!(
        text,
        "{:04}-{:02}-{:02}{separator}{:02}:{:02}:{:02}",
        date.year,
        date.month,
        date.day,
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    if digits > 0 {
        let fraction = (time.nanos % 1_000_000_000) / 10_i64.pow(9 - digits.min(9) as u32);
        let _ = write!(text, ".{fraction:0digits$}");
    }
}

/// A time whose parts are looked at.
struct Parts {
    date: Date,
    days: i64,
    nanos: i64,
}

impl Parts {
    fn get(&self, field: Field) -> i64 {
        let second = self.nanos / 1_000_000_000;
        let (hour, date) = (second / 3_600, &self.date);
        match field {
            Field::Year => date.year,
            Field::YearOfEra => {
                if date.year > 0 {
                    date.year
                } else {
                    1 - date.year
                }
            }
            Field::WeekBasedYear => week_of_year(self.days).0,
            Field::Quarter => (date.month + 2) / 3,
            Field::Month => date.month,
            Field::Day => date.day,
            Field::DayOfYear => date.day_of_year(),
            Field::AlignedDayOfWeekInMonth => (date.day - 1) % 7 + 1,
            Field::WeekOfYear => week_of_year(self.days).1,
            Field::WeekOfMonth => {
                let first = day_of_week(self.days - date.day + 1);
                (date.day - 1 + first) / 7 + 1
            }
            Field::DayOfWeek => day_of_week(self.days) + 1,
            Field::HourOfDay => hour,
            Field::ClockHourOfDay => {
                if hour == 0 {
                    24
                } else {
                    hour
                }
            }
            Field::HourOfAmPm => hour % 12,
            Field::ClockHourOfAmPm => {
                if hour % 12 == 0 {
                    12
                } else {
                    hour % 12
                }
            }
            Field::Minute => second / 60 % 60,
            Field::Second => second % 60,
            Field::MilliOfDay => self.nanos / 1_000_000,
            Field::NanoOfSecond => self.nanos % 1_000_000_000,
            Field::NanoOfDay => self.nanos,
        }
    }

    fn index(&self, name: Name) -> usize {
        let index = match name {
            Name::Era => i64::from(self.date.year > 0),
            Name::Quarter => self.get(Field::Quarter) - 1,
            Name::Month => self.date.month - 1,
            Name::DayOfWeek => day_of_week(self.days),
            Name::AmPm => self.get(Field::HourOfDay) / 12,
        };
        usize::try_from(index).unwrap_or_default()
    }
}

impl Pattern {
    /// Appends a time in the form of the pattern. An error where the pattern asks for a zone.
    pub fn print(&self, time: LocalDateTime, text: &mut String) -> Result<()> {
        let parts = Parts { date: time.date(), days: time.days, nanos: time.nanos };
        for element in &self.elements {
            match element {
                Element::Literal(literal) => text.push_str(literal),
                Element::Number { field, min, sign, .. } => {
                    number(text, parts.get(*field), *min, *sign);
                }
                Element::TwoDigitYear(field) => {
                    number(text, parts.get(*field).rem_euclid(100), 2, Sign::Never);
                }
                Element::Fraction(digits) => {
                    let start = text.len();
                    number(text, parts.get(Field::NanoOfSecond), 9, Sign::Never);
                    text.truncate(start + digits);
                }
                Element::Named(name, length) => {
                    text.push_str(&texts(*name, *length)[parts.index(*name)]);
                }
                Element::Offset(letter, _) => {
                    return exec_err!("a time without a zone cannot be shown by the pattern letter {letter}");
                }
                Element::OptionalStart | Element::OptionalEnd => {}
            }
        }
        Ok(())
    }
}

/// Appends a number with at least `min` digits.
fn number(text: &mut String, value: i64, min: usize, sign: Sign) {
    // written from the last digit on
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    let mut rest = value.unsigned_abs();
    while rest > 0 || start == digits.len() {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let count = digits.len() - start;
    if value < 0 {
        text.push('-');
    } else if sign == Sign::ExceedsPad && count > min {
        text.push('+');
    }
    text.extend(std::iter::repeat_n('0', min.saturating_sub(count)));
    text.extend(digits[start..].iter().map(|digit| char::from(*digit)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(year: i64, month: i64, day: i64, nanos: i64, pattern: &str) -> String {
        let mut text = String::new();
        let time = LocalDateTime { days: Date { year, month, day }.to_days(), nanos };
        Pattern::parse(pattern).unwrap().print(time, &mut text).unwrap();
        text
    }

    const AFTERNOON: i64 = (13 * 3_600 + 5 * 60 + 7) * 1_000_000_000 + 89_000_000;

    #[test]
    fn every_letter() {
        for (pattern, expected) in [
            ("yyyy-MM-dd HH:mm:ss.SSS", "2024-02-09 13:05:07.089"),
            ("d/M/yy H:m:s", "9/2/24 13:5:7"),
            ("y-M hh:mm a K k", "2024-2 01:05 PM 1 13"),
            ("MMM MMMM EEE EEEE", "Feb February Fri Friday"),
            ("D DD DDD Q QQQ", "40 40 040 1 Q1"),
            ("G uuuu", "AD 2024"),
            ("yyyy'T'MM HH''mm ''", "2024T02 13'05 '"),
            ("S SSSSSS", "0 089000"),
            (
                "e c w W Y YYYY F n N A GGGG QQQQ LLL LLLL MMMMM EEEEE",
                "6 6 6 2 2024 2024 2 89000000 47107089000000 47107089 Anno Domini 1st quarter Feb February F F",
            ),
            ("yyyyy yy y [HH] DD ee ww kk", "02024 24 2024 13 40 06 06 13"),
            ("", ""),
        ] {
            assert_eq!(print(2024, 2, 9, AFTERNOON, pattern), expected, "{pattern}");
        }
        assert_eq!(print(1970, 1, 1, 0, "k K h a"), "24 0 12 AM");
        assert_eq!(print(99, 1, 1, 0, "yyyy yy y uuuu"), "0099 99 99 0099");
        assert_eq!(print(10_000, 1, 1, 0, "yyyy y"), "+10000 10000");
        assert_eq!(print(-1, 1, 1, 0, "G yyyy uuuu"), "BC 0002 -0001");
        // the last days of 2024 are in the first week of 2025
        assert_eq!(print(2024, 12, 29, 0, "YYYY w W"), "2025 1 5");
    }

    #[test]
    fn a_wall_clock_has_no_zone() {
        let time = LocalDateTime { days: 0, nanos: 0 };
        let error = Pattern::parse("HH:mm z").unwrap().print(time, &mut String::new()).unwrap_err();
        assert!(error.to_string().contains("without a zone"));
    }
}
