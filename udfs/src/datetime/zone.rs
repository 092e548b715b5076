//! The session's time zone: instants to wall-clock times and back.

use std::str::FromStr;

use chrono::{DateTime, FixedOffset, LocalResult, NaiveDateTime, Offset, TimeDelta, TimeZone};
use chrono_tz::Tz;
use datafusion_common::{Result, plan_err};

/// A time zone as `table.local-time-zone` names it: a region (`America/New_York`), `UTC`, or an
/// offset (`GMT+08:00`, `+08:00`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalZone {
    /// A region with its history of offsets.
    Region(Tz),
    /// A fixed offset.
    Fixed(FixedOffset),
}

impl LocalZone {
    /// UTC.
    pub const UTC: LocalZone = LocalZone::Region(Tz::UTC);

    /// The zone of this name; an error that shows the accepted forms.
    pub fn parse(name: &str) -> Result<Self> {
        if let Ok(region) = Tz::from_str(name) {
            return Ok(LocalZone::Region(region));
        }
        let offset = ["GMT", "UTC", "UT"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
        match FixedOffset::from_str(offset) {
            Ok(offset) => Ok(LocalZone::Fixed(offset)),
            Err(_) => plan_err!(
                "'{name}' is not a time zone: use a region such as 'America/New_York', or an offset such as 'GMT+08:00'"
            ),
        }
    }

    /// The wall-clock time at an instant, both in milliseconds since the epoch.
    pub fn to_local(self, instant: i64) -> i64 {
        let Some(utc) = DateTime::from_timestamp_millis(instant) else { return instant };
        let offset = match self {
            LocalZone::Region(Tz::UTC) => return instant,
            LocalZone::Region(region) => region.offset_from_utc_datetime(&utc.naive_utc()).fix(),
            LocalZone::Fixed(offset) => offset,
        };
        instant + i64::from(offset.local_minus_utc()) * 1000
    }

    /// The instant of a wall-clock time, both in milliseconds since the epoch, as `java.time` has
    /// it: a time that comes twice is the earlier one; one that a clock change leaves out is moved
    /// on by the length of the gap.
    pub fn to_instant(self, local: i64) -> i64 {
        let offset = match self {
            LocalZone::Region(Tz::UTC) => return local,
            LocalZone::Fixed(offset) => offset,
            LocalZone::Region(region) => match DateTime::from_timestamp_millis(local) {
                None => return local,
                Some(wall) => offset_of_wall(region, wall.naive_utc()),
            },
        };
        local - i64::from(offset.local_minus_utc()) * 1000
    }

    /// The instant of a wall-clock time as `java.util.Calendar` has it, both in milliseconds since the epoch: of a
    /// time that comes twice the later one; else as [`LocalZone::to_instant`].
    pub fn to_later_instant(self, local: i64) -> i64 {
        if let (LocalZone::Region(region), Some(wall)) = (self, DateTime::from_timestamp_millis(local))
            && let LocalResult::Ambiguous(_, later) = region.offset_from_local_datetime(&wall.naive_utc())
        {
            return local - i64::from(later.fix().local_minus_utc()) * 1000;
        }
        self.to_instant(local)
    }

    /// The instant at which a clock on the wall has passed a time, in milliseconds, for windows to fire by: of
    /// a time that comes twice the later one; of one that a clock change leaves out, the instant of the change.
    fn passing_instant(self, local: i64) -> i64 {
        if let (LocalZone::Region(region), Some(wall)) = (self, DateTime::from_timestamp_millis(local)) {
            match region.offset_from_local_datetime(&wall.naive_utc()) {
                LocalResult::Ambiguous(_, later) => {
                    return local - i64::from(later.fix().local_minus_utc()) * 1000;
                }
                LocalResult::None => {
                    let moved = self.to_instant(local);
                    return moved - moved.rem_euclid(MILLIS_PER_HOUR);
                }
                LocalResult::Single(_) => {}
            }
        }
        self.to_instant(local)
    }

    /// The instant in milliseconds at which a window that ends at the wall-clock time `end` is over.
    pub fn over_at(self, end: i64) -> i64 {
        self.passing_instant(end.saturating_sub(1)).saturating_add(1)
    }

    /// Whether a window that ends at the wall-clock time `end` is over when the watermark stands at
    /// `watermark`: whether it has passed the last millisecond of the window.
    pub fn has_passed(self, end: i64, watermark: i64) -> bool {
        if self == LocalZone::UTC {
            return end.saturating_sub(1) <= watermark;
        }
        self.passing_instant(end.saturating_sub(1)) <= watermark
    }
}

const MILLIS_PER_HOUR: i64 = 3_600_000;

fn offset_of_wall(region: Tz, wall: NaiveDateTime) -> FixedOffset {
    match region.offset_from_local_datetime(&wall) {
        LocalResult::Single(offset) | LocalResult::Ambiguous(offset, _) => offset.fix(),
        // in a gap the offset from before it holds
        LocalResult::None => region.offset_from_utc_datetime(&(wall - TimeDelta::days(1))).fix(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn wall(text: &str) -> i64 {
        NaiveDateTime::from_str(text).unwrap().and_utc().timestamp_millis()
    }

    #[test]
    fn daylight_saving_is_javas() -> Result<()> {
        let new_york = LocalZone::parse("America/New_York")?;
        let noon = wall("2024-07-01T12:00:00");
        assert_eq!(new_york.to_local(noon), noon - 4 * HOUR);
        assert_eq!(new_york.to_instant(noon - 4 * HOUR), noon);
        // 02:30 does not exist on 10 March: it is 03:30 EDT
        assert_eq!(new_york.to_instant(wall("2024-03-10T02:30:00")), wall("2024-03-10T07:30:00"));
        // 01:30 comes twice on 3 November: the first is EDT
        assert_eq!(new_york.to_instant(wall("2024-11-03T01:30:00")), wall("2024-11-03T05:30:00"));
        assert_eq!(new_york.to_later_instant(wall("2024-11-03T01:30:00")), wall("2024-11-03T06:30:00"));
        assert_eq!(new_york.to_later_instant(wall("2024-03-10T02:30:00")), wall("2024-03-10T07:30:00"));
        Ok(())
    }

    #[test]
    fn a_window_in_the_hour_that_comes_twice_fires_after_the_second() -> Result<()> {
        let new_york = LocalZone::parse("America/New_York")?;
        let end = wall("2024-11-03T02:00:00");
        assert!(!new_york.has_passed(end, wall("2024-11-03T06:30:00")));
        assert!(new_york.has_passed(end, wall("2024-11-03T07:00:00") - 1));
        // from 02:00 to 03:00 on 10 March there is nothing to wait for
        assert!(new_york.has_passed(wall("2024-03-10T03:00:00"), wall("2024-03-10T07:00:00")));
        Ok(())
    }

    #[test]
    fn offsets_and_errors() -> Result<()> {
        for name in ["GMT+05:30", "UTC+05:30", "+05:30"] {
            assert_eq!(LocalZone::parse(name)?.to_local(0), 5 * HOUR + HOUR / 2);
        }
        assert_eq!(LocalZone::parse("UTC")?, LocalZone::UTC);
        assert!(LocalZone::parse("Mars/Base").unwrap_err().to_string().contains("Mars/Base"));
        Ok(())
    }
}
