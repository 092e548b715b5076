//! What a Top-N tells of its changes.

use crate::changelog::RowKind;
use crate::operators::row_changes::RowChanges;
use crate::state::Place;

/// Collects changes. Those of ranks out of range are left out, and `-U` where nobody needs them.
#[derive(Debug)]
pub(super) struct Emitter {
    pub(super) changes: RowChanges,
    /// The first rank that is emitted.
    pub(super) start: usize,
    /// Whether the rank is a column of the output.
    pub(super) has_rank: bool,
    /// Whether changes are told rank by rank.
    pub(super) is_ranked: bool,
    /// Whether there is one row a partition, which is replaced.
    pub(super) is_top_1: bool,
    pub(super) update_before: bool,
}

impl Emitter {
    /// A change of a rank, counted from 1, which is not beyond the last.
    #[inline]
    pub(super) fn push(&mut self, kind: RowKind, place: Place, rank: usize) {
        if rank < self.start || (kind == RowKind::UpdateBefore && !self.update_before) {
            return;
        }
        match self.has_rank {
            true => self.changes.push_ranked(kind, place, rank),
            false => self.changes.push(kind, place),
        }
    }

    /// The row at a rank is another one.
    #[inline]
    pub(super) fn replace(&mut self, old: Place, new: Place, rank: usize) {
        self.push(RowKind::UpdateBefore, old, rank);
        self.push(RowKind::UpdateAfter, new, rank);
    }

    /// A new row enters at `rank`: those at and behind it move down by one, `end` being the last rank.
    pub(super) fn shift_down(
        &mut self,
        new: Place,
        rank: usize,
        behind: impl Iterator<Item = Place>,
        end: usize,
    ) {
        let mut current = new;
        let mut rank = rank;
        for place in behind {
            if rank > end {
                return;
            }
            self.replace(place, current, rank);
            current = place;
            rank += 1;
        }
        if rank <= end {
            self.push(RowKind::Insert, current, rank);
        }
    }
}
