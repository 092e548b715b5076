//! Changelog modes: which row kinds a stream may contain.

use std::fmt;

use super::RowKind;

/// The set of row kinds that a stream may contain, as the planner knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChangelogMode(u8);

impl ChangelogMode {
    /// Only `+I`: an append-only stream.
    pub const INSERT_ONLY: ChangelogMode = ChangelogMode(0b0001);
    /// All four kinds: a retract stream.
    pub const ALL: ChangelogMode = ChangelogMode(0b1111);
    /// `+I`, `+U`, `-D`: an upsert stream, to be read by its key.
    pub const UPSERT: ChangelogMode = ChangelogMode(0b1101);

    /// The mode of exactly these kinds.
    pub fn of(kinds: impl IntoIterator<Item = RowKind>) -> Self {
        ChangelogMode(kinds.into_iter().fold(0, |set, kind| set | 1 << kind as u8))
    }

    /// Whether rows of this kind may come.
    pub fn contains(self, kind: RowKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// Whether only `+I` may come.
    pub fn is_insert_only(self) -> bool {
        self == ChangelogMode::INSERT_ONLY
    }

    /// Whether updates come without their `-U`.
    pub fn is_upsert(self) -> bool {
        self.contains(RowKind::UpdateAfter) && !self.contains(RowKind::UpdateBefore)
    }

    /// The kinds of both.
    pub fn union(self, other: ChangelogMode) -> Self {
        ChangelogMode(self.0 | other.0)
    }

    /// The mode without a kind.
    pub fn without(self, kind: RowKind) -> Self {
        ChangelogMode(self.0 & !(1 << kind as u8))
    }

    /// The mode with a kind more.
    pub fn with(self, kind: RowKind) -> Self {
        ChangelogMode(self.0 | 1 << kind as u8)
    }
}

impl fmt::Display for ChangelogMode {
    /// As Flink's EXPLAIN does: `I,UB,UA,D`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["I", "UB", "UA", "D"];
        let contained = RowKind::ALL.into_iter().filter(|kind| self.contains(*kind));
        let text: Vec<_> = contained.map(|kind| names[kind as usize]).collect();
        f.write_str(&text.join(","))
    }
}
