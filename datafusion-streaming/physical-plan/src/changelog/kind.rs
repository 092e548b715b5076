//! Row kinds: Flink's `+I`, `-U`, `+U`, `-D`.

use std::fmt;

use arrow::array::{Array, BooleanArray};
use arrow::buffer::ScalarBuffer;

/// How a row changes the table that a changelog describes. The numbers are Flink's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum RowKind {
    /// `+I`: a new row.
    Insert = 0,
    /// `-U`: the old content of a row that is updated; its `+U` follows.
    UpdateBefore = 1,
    /// `+U`: the new content of an updated row.
    UpdateAfter = 2,
    /// `-D`: a row that is gone.
    Delete = 3,
}

impl RowKind {
    /// All kinds, by number.
    pub const ALL: [RowKind; 4] =
        [RowKind::Insert, RowKind::UpdateBefore, RowKind::UpdateAfter, RowKind::Delete];

    /// Flink's short form: `+I`, `-U`, `+U` or `-D`.
    pub fn short(self) -> &'static str {
        match self {
            RowKind::Insert => "+I",
            RowKind::UpdateBefore => "-U",
            RowKind::UpdateAfter => "+U",
            RowKind::Delete => "-D",
        }
    }

    /// The long form that `TO_CHANGELOG` writes into its `op` column.
    pub fn long(self) -> &'static str {
        match self {
            RowKind::Insert => "INSERT",
            RowKind::UpdateBefore => "UPDATE_BEFORE",
            RowKind::UpdateAfter => "UPDATE_AFTER",
            RowKind::Delete => "DELETE",
        }
    }

    /// Whether the row takes something back: `-U` and `-D`.
    #[inline]
    pub fn is_retraction(self) -> bool {
        matches!(self, RowKind::UpdateBefore | RowKind::Delete)
    }

    /// The kind with this number; `None` beyond 3.
    pub fn from_u8(number: u8) -> Option<RowKind> {
        RowKind::ALL.get(usize::from(number)).copied()
    }
}

impl fmt::Display for RowKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}

/// The kinds of the rows of a batch: one byte each, cheap to clone and to slice.
#[derive(Debug, Clone, PartialEq)]
pub struct RowKinds(ScalarBuffer<u8>);

impl RowKinds {
    /// `len` times the same kind.
    pub fn repeat(kind: RowKind, len: usize) -> Self {
        RowKinds(ScalarBuffer::from(vec![kind as u8; len]))
    }

    /// `pairs` times `-U`, `+U`.
    pub fn update_pairs(pairs: usize) -> Self {
        let pair = [RowKind::UpdateBefore as u8, RowKind::UpdateAfter as u8];
        RowKinds(ScalarBuffer::from(pair.repeat(pairs)))
    }

    /// The number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The kind of a row. Panics beyond [`RowKinds::len`], as indexing a slice does.
    #[inline]
    pub fn get(&self, row: usize) -> RowKind {
        RowKind::ALL[usize::from(self.0[row] & 3)]
    }

    /// The kinds in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = RowKind> + '_ {
        self.0.iter().map(|kind| RowKind::ALL[usize::from(*kind & 3)])
    }

    /// `len` kinds from `offset` on, without a copy.
    pub fn slice(&self, offset: usize, len: usize) -> Self {
        RowKinds(self.0.slice(offset, len))
    }

    /// The kinds of the rows that `mask` keeps; NULL keeps nothing.
    pub fn filter(&self, mask: &BooleanArray) -> Self {
        let kept =
            (0..self.len()).filter(|row| mask.is_valid(*row) && mask.value(*row)).map(|row| self.0[row]);
        RowKinds(kept.collect())
    }

    /// The kinds of `rows`, in that order.
    pub fn take(&self, rows: &[u32]) -> Self {
        RowKinds(rows.iter().map(|row| self.0[*row as usize]).collect())
    }

    /// For each row whether it takes something back.
    pub fn retractions(&self) -> Vec<bool> {
        self.0.iter().map(|kind| kind & 1 == 1).collect()
    }

    /// Whether every row is `+I`.
    pub fn is_insert_only(&self) -> bool {
        self.0.iter().all(|kind| *kind == RowKind::Insert as u8)
    }

    /// The numbers of the kinds, one byte a row.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl FromIterator<RowKind> for RowKinds {
    fn from_iter<I: IntoIterator<Item = RowKind>>(kinds: I) -> Self {
        RowKinds(kinds.into_iter().map(|kind| kind as u8).collect())
    }
}

impl From<Vec<RowKind>> for RowKinds {
    fn from(kinds: Vec<RowKind>) -> Self {
        kinds.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_filter_take_and_slice_alike() {
        let kinds: RowKinds = RowKind::ALL.into_iter().collect();
        let mask = BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]);
        assert_eq!(kinds.filter(&mask), kinds.take(&[0, 3]));
        assert_eq!(kinds.slice(1, 2), RowKinds::from(vec![RowKind::UpdateBefore, RowKind::UpdateAfter]));
        assert_eq!(kinds.retractions(), vec![false, true, false, true]);
        assert!(!kinds.is_insert_only());
        assert!(RowKinds::repeat(RowKind::Insert, 3).is_insert_only());
    }

    #[test]
    fn numbers_are_flinks() {
        for (number, text) in ["+I", "-U", "+U", "-D"].into_iter().enumerate() {
            assert_eq!(RowKind::from_u8(number as u8).map(RowKind::short), Some(text));
        }
        assert_eq!(RowKind::from_u8(4), None);
    }
}
