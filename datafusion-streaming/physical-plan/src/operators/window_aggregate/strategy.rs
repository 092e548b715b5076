//! When windows emit besides at their ends.

use std::fmt;

/// Flink's emit strategy of a window aggregation, `table.exec.emit.*`. All times are in milliseconds.
///
/// A delay is one of processing time: a window emits so long after the first row that it got, and then
/// at every multiple of it, if it has changed; with a delay of 0 it emits with each row. A window emits
/// what has changed since it emitted last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmitStrategy {
    /// The delay before the end of the window; `None`: nothing is emitted before the end.
    pub early: Option<i64>,
    /// The delay from the end of the window on. A window that gets its first row then emits with each
    /// row all the same.
    pub late: i64,
    /// How long after its end a window takes rows. When it takes no more, changes that still wait for
    /// their delay are lost; their rows are counted as late.
    pub lateness: i64,
}

impl EmitStrategy {
    /// Windows emit once, at their ends.
    pub const AT_END: EmitStrategy = EmitStrategy { early: None, late: 0, lateness: 0 };

    /// Whether windows may emit more than once.
    pub fn updates(&self) -> bool {
        *self != EmitStrategy::AT_END
    }
}

impl fmt::Display for EmitStrategy {
    /// `early delay 1000 ms, late with each row, allowed_lateness 5000 ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut delay = |label: &str, delay: i64| match delay {
            0 => write!(f, "{label} with each row"),
            delay => write!(f, "{label} delay {delay} ms"),
        };
        if let Some(early) = self.early {
            delay("early", early)?;
        }
        if self.lateness > 0 {
            delay(if self.early.is_some() { ", late" } else { "late" }, self.late)?;
            write!(f, ", allowed_lateness {} ms", self.lateness)?;
        }
        Ok(())
    }
}
