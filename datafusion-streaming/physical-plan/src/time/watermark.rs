//! Watermarks and their merge over several inputs.

use std::fmt;

/// A promise: no row with a rowtime at or before this time follows, or if one does, it is late.
/// Milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Watermark(pub i64);

impl Watermark {
    /// Before the first watermark.
    pub const MIN: Watermark = Watermark(i64::MIN);
    /// The end of time: the input has ended, everything fires.
    pub const MAX: Watermark = Watermark(i64::MAX);
}

impl fmt::Display for Watermark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Watermark::MIN => f.write_str("MIN"),
            Watermark::MAX => f.write_str("MAX"),
            Watermark(millis) => write!(f, "{millis}"),
        }
    }
}

/// The watermark of several inputs: the least of those that are not idle. It never goes back.
#[derive(Debug, Clone)]
pub struct WatermarkMerge {
    inputs: Vec<(Watermark, bool)>,
    merged: Watermark,
}

/// What an update of one input means for the merged watermark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merged {
    /// The merged watermark is the same as before.
    Unchanged,
    /// The merged watermark went on to this.
    Advanced(Watermark),
    /// All inputs are idle now.
    Idle,
}

impl WatermarkMerge {
    /// For this many inputs, all active, none of which has sent a watermark.
    pub fn new(inputs: usize) -> Self {
        WatermarkMerge { inputs: vec![(Watermark::MIN, false); inputs], merged: Watermark::MIN }
    }

    /// The merged watermark.
    pub fn current(&self) -> Watermark {
        self.merged
    }

    /// An input sent a watermark, which also makes it active.
    pub fn update(&mut self, input: usize, watermark: Watermark) -> Merged {
        let (known, idle) = &mut self.inputs[input];
        *known = (*known).max(watermark);
        *idle = false;
        self.merge()
    }

    /// An input became idle: the others go on without it.
    pub fn set_idle(&mut self, input: usize) -> Merged {
        self.inputs[input].1 = true;
        if self.inputs.iter().all(|(_, idle)| *idle) {
            return Merged::Idle;
        }
        self.merge()
    }

    /// An input that was idle has rows again.
    pub fn set_active(&mut self, input: usize) {
        self.inputs[input].1 = false;
    }

    /// Whether every input is idle.
    pub fn is_idle(&self) -> bool {
        self.inputs.iter().all(|(_, idle)| *idle)
    }

    /// The watermark of each input and whether it is idle, for snapshots.
    pub fn inputs(&self) -> Vec<(i64, bool)> {
        self.inputs.iter().map(|(watermark, idle)| (watermark.0, *idle)).collect()
    }

    /// A merge in a state that it had: `inputs` where their number is the same, else every input stands
    /// where the merged watermark does.
    pub fn restored(count: usize, inputs: &[(i64, bool)], merged: Watermark) -> Self {
        let inputs = match inputs.len() == count {
            true => inputs.iter().map(|(watermark, idle)| (Watermark(*watermark), *idle)).collect(),
            false => vec![(merged, false); count],
        };
        WatermarkMerge { inputs, merged }
    }

    fn merge(&mut self) -> Merged {
        let active = self.inputs.iter().filter(|(_, idle)| !idle);
        match active.map(|(watermark, _)| *watermark).min() {
            Some(least) if least > self.merged => {
                self.merged = least;
                Merged::Advanced(least)
            }
            _ => Merged::Unchanged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_active_input_decides() {
        let mut merge = WatermarkMerge::new(2);
        assert_eq!(merge.update(0, Watermark(10)), Merged::Unchanged);
        assert_eq!(merge.update(1, Watermark(5)), Merged::Advanced(Watermark(5)));
        assert_eq!(merge.update(0, Watermark(9)), Merged::Unchanged);
        assert_eq!(merge.set_idle(1), Merged::Advanced(Watermark(10)));
        merge.set_active(1);
        assert_eq!(merge.update(1, Watermark(7)), Merged::Unchanged);
        assert_eq!(merge.current(), Watermark(10));
        assert_eq!(merge.update(1, Watermark::MAX), Merged::Unchanged);
        assert_eq!(merge.update(0, Watermark::MAX), Merged::Advanced(Watermark::MAX));
    }

    #[test]
    fn each_input_is_restored_where_it_was() {
        let mut merge = WatermarkMerge::new(2);
        merge.update(0, Watermark(10));
        merge.update(1, Watermark(5));
        let mut same = WatermarkMerge::restored(2, &merge.inputs(), merge.current());
        assert_eq!(same.update(1, Watermark(8)), Merged::Advanced(Watermark(8)));
        let mut other = WatermarkMerge::restored(3, &merge.inputs(), merge.current());
        assert_eq!(other.update(1, Watermark(8)), Merged::Unchanged);
        assert_eq!(other.current(), Watermark(5));
    }

    #[test]
    fn all_idle_is_told() {
        let mut merge = WatermarkMerge::new(2);
        assert_eq!(merge.set_idle(0), Merged::Unchanged);
        assert_eq!(merge.set_idle(1), Merged::Idle);
        assert!(merge.is_idle());
    }
}
