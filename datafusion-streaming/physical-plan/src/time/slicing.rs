//! The slices that overlapping windows are made of.

use super::WindowAssigner;
use super::window::window_start;

/// How windows are cut into slices, none of which any window holds in part. All times are in
/// milliseconds; slices and windows are named by their ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slicing {
    assigner: WindowAssigner,
    /// The length of a slice.
    length: i64,
    offset: i64,
}

impl Slicing {
    /// The slices of windows: as long as the slide or the step, or as the window where windows do not
    /// overlap. Of HOP the slide must divide the size; sessions have no slices, and are taken as
    /// windows of the gap's length.
    pub fn of(assigner: WindowAssigner) -> Self {
        let (length, offset) = match assigner {
            WindowAssigner::Tumble { size, offset } => (size, offset),
            WindowAssigner::Hop { slide, offset, .. } => (slide, offset),
            WindowAssigner::Cumulate { step, offset, .. } => (step, offset),
            WindowAssigner::Session { gap } => (gap, 0),
        };
        Slicing { assigner, length, offset }
    }

    /// The slice of a time.
    #[inline]
    pub fn slice_end(&self, time: i64) -> i64 {
        window_start(time, self.offset, self.length) + self.length
    }

    /// The last window that a slice is in.
    #[inline]
    pub fn last_window(&self, slice: i64) -> i64 {
        match self.assigner {
            WindowAssigner::Hop { slide, size, .. } => slice + size - slide,
            WindowAssigner::Cumulate { max_size, offset, .. } => {
                window_start(slice - 1, offset, max_size) + max_size
            }
            WindowAssigner::Tumble { .. } | WindowAssigner::Session { .. } => slice,
        }
    }

    /// All windows that a slice is in, in the order in which they end.
    pub fn windows_of(&self, slice: i64) -> impl Iterator<Item = i64> + use<> {
        let last = self.last_window(slice);
        (slice..=last).step_by(usize::try_from(self.length).unwrap_or(usize::MAX))
    }

    /// The first slice of a window.
    pub fn first_slice(&self, window: i64) -> i64 {
        self.assigner.start_of(window) + self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_make_up_the_windows_that_rows_are_assigned_to() {
        let hop = WindowAssigner::Hop { slide: 5, size: 20, offset: 2 };
        let cumulate = WindowAssigner::Cumulate { step: 5, max_size: 20, offset: -3 };
        let tumble = WindowAssigner::Tumble { size: 7, offset: 1 };
        for assigner in [hop, cumulate, tumble] {
            let slicing = Slicing::of(assigner);
            for time in -50..50 {
                let slice = slicing.slice_end(time);
                let mut assigned = vec![];
                assigner.assign(time, |window| assigned.push(window.end));
                assigned.sort_unstable();
                assert_eq!(slicing.windows_of(slice).collect::<Vec<_>>(), assigned, "{assigner} {time}");
                assert_eq!(slicing.last_window(slice), assigned[assigned.len() - 1]);
                for window in assigned {
                    assert!((slicing.first_slice(window)..=window).contains(&slice));
                }
            }
        }
    }
}
