//! Window assignment: which windows a time belongs to.

use std::fmt;

/// How rows are assigned to windows. All times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowAssigner {
    /// Windows of a fixed size that do not overlap.
    Tumble {
        /// The size of a window.
        size: i64,
        /// How much windows begin after multiples of `size`.
        offset: i64,
    },
    /// Windows of a fixed size that start every `slide`.
    Hop {
        /// The time between the starts of windows; divides `size`.
        slide: i64,
        /// The size of a window.
        size: i64,
        /// How much windows begin after multiples of `slide`.
        offset: i64,
    },
    /// Windows that start together and grow by `step` up to `max_size`.
    Cumulate {
        /// The growth; divides `max_size`.
        step: i64,
        /// The size of the last window.
        max_size: i64,
        /// How much windows begin after multiples of `max_size`.
        offset: i64,
    },
    /// Runs of rows of a key that are at most `gap` apart. A row by itself is in the window from its
    /// time to `gap` later; which session that belongs to, only all rows of the key can tell.
    Session {
        /// The time after a row at which its session ends unless another row comes.
        gap: i64,
    },
}

/// A window: times `t` with `start <= t < end`, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeWindow {
    /// The first time of the window.
    pub start: i64,
    /// The first time after it.
    pub end: i64,
}

/// The start of the window of size `size` that holds `time`.
#[inline]
pub fn window_start(time: i64, offset: i64, size: i64) -> i64 {
    time - (time - offset).rem_euclid(size)
}

impl WindowAssigner {
    /// Calls `each` with every window of `time`, in Flink's order: of HOP the latest first, of
    /// CUMULATE the smallest first.
    #[inline]
    pub fn assign(&self, time: i64, mut each: impl FnMut(TimeWindow)) {
        match *self {
            WindowAssigner::Tumble { size, offset } => {
                let start = window_start(time, offset, size);
                each(TimeWindow { start, end: start + size });
            }
            WindowAssigner::Hop { slide, size, offset } => {
                let mut start = window_start(time, offset, slide);
                while start > time - size {
                    each(TimeWindow { start, end: start + size });
                    start -= slide;
                }
            }
            WindowAssigner::Cumulate { step, max_size, offset } => {
                let start = window_start(time, offset, max_size);
                let mut end = window_start(time, start, step) + step;
                while end <= start + max_size {
                    each(TimeWindow { start, end });
                    end += step;
                }
            }
            WindowAssigner::Session { gap } => each(TimeWindow { start: time, end: time + gap }),
        }
    }

    /// The start of the window that ends at `end`; of a session, the latest that it can have.
    pub fn start_of(&self, end: i64) -> i64 {
        match *self {
            WindowAssigner::Tumble { size, .. } | WindowAssigner::Hop { size, .. } => end - size,
            WindowAssigner::Cumulate { max_size, offset, .. } => window_start(end - 1, offset, max_size),
            WindowAssigner::Session { gap } => end - gap,
        }
    }

    /// The end of the last window of a time; `None` of a time that HOP leaves between its windows. Of a
    /// session it is that of a row by itself.
    pub fn last_end(&self, time: i64) -> Option<i64> {
        match *self {
            WindowAssigner::Tumble { size, offset } => Some(window_start(time, offset, size) + size),
            WindowAssigner::Hop { slide, size, offset } => {
                Some(window_start(time, offset, slide) + size).filter(|end| *end > time)
            }
            WindowAssigner::Cumulate { max_size, offset, .. } => {
                Some(window_start(time, offset, max_size) + max_size)
            }
            WindowAssigner::Session { gap } => Some(time + gap),
        }
    }

    /// Whether windows are sessions, which have no fixed size.
    pub fn is_session(&self) -> bool {
        matches!(self, WindowAssigner::Session { .. })
    }

    /// Whether every time belongs to exactly one window.
    pub fn is_tumble(&self) -> bool {
        matches!(self, WindowAssigner::Tumble { .. })
    }
}

impl fmt::Display for WindowAssigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = match *self {
            WindowAssigner::Tumble { size, offset } => {
                write!(f, "TUMBLE(size=[{size} ms]")?;
                offset
            }
            WindowAssigner::Hop { slide, size, offset } => {
                write!(f, "HOP(slide=[{slide} ms], size=[{size} ms]")?;
                offset
            }
            WindowAssigner::Cumulate { step, max_size, offset } => {
                write!(f, "CUMULATE(step=[{step} ms], max_size=[{max_size} ms]")?;
                offset
            }
            WindowAssigner::Session { gap } => return write!(f, "SESSION(gap=[{gap} ms])"),
        };
        match offset {
            0 => f.write_str(")"),
            offset => write!(f, ", offset=[{offset} ms])"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(assigner: WindowAssigner, time: i64) -> Vec<(i64, i64)> {
        let mut windows = vec![];
        assigner.assign(time, |window| windows.push((window.start, window.end)));
        windows
    }

    #[test]
    fn times_before_the_epoch_and_offsets_of_either_sign() {
        let tumble = |offset| WindowAssigner::Tumble { size: 10, offset };
        assert_eq!(windows(tumble(0), 0), [(0, 10)]);
        assert_eq!(windows(tumble(0), -1), [(-10, 0)]);
        assert_eq!(windows(tumble(3), 2), [(-7, 3)]);
        assert_eq!(windows(tumble(-3), 7), [(7, 17)]);
    }

    #[test]
    fn the_last_window_is_the_latest_of_those_assigned() {
        let assigners = [
            WindowAssigner::Tumble { size: 10, offset: 3 },
            WindowAssigner::Hop { slide: 5, size: 15, offset: -2 },
            WindowAssigner::Hop { slide: 10, size: 4, offset: 0 },
            WindowAssigner::Cumulate { step: 5, max_size: 15, offset: 1 },
        ];
        for assigner in assigners {
            for time in -40..40 {
                let last = windows(assigner, time).into_iter().map(|window| window.1).max();
                assert_eq!(assigner.last_end(time), last, "{assigner} {time}");
            }
        }
    }

    #[test]
    fn hop_and_cumulate_in_flinks_order() {
        let hop = WindowAssigner::Hop { slide: 5, size: 15, offset: 0 };
        assert_eq!(windows(hop, 12), [(10, 25), (5, 20), (0, 15)]);
        let cumulate = WindowAssigner::Cumulate { step: 5, max_size: 15, offset: 0 };
        assert_eq!(windows(cumulate, 7), [(0, 10), (0, 15)]);
        assert_eq!(windows(cumulate, -1), [(-15, 0)]);
        assert_eq!(windows(cumulate, 0), [(0, 5), (0, 10), (0, 15)]);
    }
}
