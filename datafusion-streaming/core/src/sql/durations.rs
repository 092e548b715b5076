//! Flink's durations, as in options and hints: `10 s`, `1 d`, `0 ms`, `5 min`, `2h`, `100ns`.

use datafusion::common::{Result, plan_err};

/// Units and their nanoseconds.
const UNITS: [(&[&str], u64); 7] = [
    (&["d", "day", "days"], 24 * 3_600_000_000_000),
    (&["h", "hour", "hours"], 3_600_000_000_000),
    (&["m", "min", "minute", "minutes"], 60_000_000_000),
    (&["s", "sec", "secs", "second", "seconds"], 1_000_000_000),
    (&["ms", "milli", "millis", "millisecond", "milliseconds"], 1_000_000),
    (&["µs", "micro", "micros", "microsecond", "microseconds"], 1_000),
    (&["ns", "nano", "nanos", "nanosecond", "nanoseconds"], 1),
];

/// The milliseconds of a duration, rounded down. A number without a unit is in milliseconds.
///
/// # Errors
/// If the text is no duration, or too long for 64 bits.
pub fn parse_duration(text: &str) -> Result<u64> {
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let unit = unit.trim().to_lowercase();
    let nanos = match unit.as_str() {
        "" => Some(1_000_000),
        unit => UNITS.iter().find(|(names, _)| names.contains(&unit)).map(|(_, nanos)| *nanos),
    };
    match (number.parse::<u64>(), nanos) {
        (Ok(number), Some(nanos)) => {
            let millis = number as u128 * nanos as u128 / 1_000_000;
            match u64::try_from(millis) {
                Ok(millis) => Ok(millis),
                Err(_) => plan_err!("The duration '{text}' is too long"),
            }
        }
        _ => plan_err!(
            "'{text}' is not a duration: write a number and one of the units d, h, min, s, ms, µs, ns, as in '10 s'"
        ),
    }
}
