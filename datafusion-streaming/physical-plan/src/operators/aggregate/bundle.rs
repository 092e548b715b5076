//! Mini-batch: rows that are aggregated before anything is emitted.

use std::fmt;

/// When a bundle ends, besides at watermarks, at barriers and at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bundling {
    /// The number of rows (`table.exec.mini-batch.size`).
    pub size: usize,
    /// How long a row waits at most, in milliseconds of processing time
    /// (`table.exec.mini-batch.allow-latency`). All operators flush at its multiples, so that what one
    /// emits is flushed by the next, as with the markers that Flink sends through its plans.
    pub latency: i64,
}

impl fmt::Display for Bundling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows, {} ms", self.size, self.latency)
    }
}

/// How far the bundle of an operator is.
#[derive(Debug)]
pub struct Bundle {
    bundling: Bundling,
    rows: usize,
    deadline: Option<i64>,
}

impl Bundle {
    /// An empty bundle.
    pub fn new(bundling: Bundling) -> Self {
        Bundle { bundling, rows: 0, deadline: None }
    }

    /// How many rows there is room for; at least one.
    pub fn room(&self) -> usize {
        self.bundling.size.saturating_sub(self.rows).max(1)
    }

    /// Counts rows that came now; whether the bundle is full.
    pub fn add(&mut self, rows: usize, now: i64) -> bool {
        self.rows += rows;
        if self.bundling.latency > 0 && self.deadline.is_none() {
            let past = now.rem_euclid(self.bundling.latency);
            self.deadline = Some(now.saturating_add(self.bundling.latency - past));
        }
        self.rows >= self.bundling.size
    }

    /// The processing time at which the bundle ends.
    pub fn deadline(&self) -> Option<i64> {
        self.deadline
    }

    /// The bundle is over; the next starts empty.
    pub fn restart(&mut self) {
        self.rows = 0;
        self.deadline = None;
    }
}
