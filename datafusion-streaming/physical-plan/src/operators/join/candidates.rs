//! The rows of the other side that may match rows of a batch.

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::take;
use datafusion_common::Result;

use super::side::{JoinSide, NONE};
use super::{MAX_PAIR_BYTES, MAX_PAIRS, Residual, row_bytes};
use crate::changelog::ChangelogBatch;

/// A batch that is being joined.
#[derive(Clone, Copy)]
pub(super) struct IncomingBatch<'a> {
    /// The input that it is of.
    pub port: usize,
    pub changes: &'a ChangelogBatch,
    /// The slot of each row's key.
    pub slots: &'a [u32],
    /// Processing time.
    pub now: i64,
}

/// The matches of consecutive rows of a batch: at least one row, and no more when they have
/// [`MAX_PAIRS`] matches.
pub(super) struct Matches {
    /// The first row.
    first: usize,
    /// For each row the end of its matches.
    ends: Vec<usize>,
    /// The matches of all rows, one row after the other: rows of the other side.
    ids: Vec<u32>,
}

impl Matches {
    /// The matches of the rows from `first` on among the rows of their keys for which `accept`, given
    /// the row and that of the other side, is true.
    pub(super) fn of(
        first: usize,
        incoming: &IncomingBatch<'_>,
        other: &JoinSide,
        residual: Option<&Residual>,
        accept: impl Fn(usize, u32) -> bool,
    ) -> Result<Self> {
        let IncomingBatch { port, changes, slots, now } = *incoming;
        let rows = slots.len() - first;
        let (ends, ids) = (Vec::with_capacity(rows), Vec::with_capacity(rows.min(MAX_PAIRS)));
        let mut matches = Matches { first, ends, ids };
        for (row, slot) in slots.iter().enumerate().skip(first) {
            if !matches.ends.is_empty() && matches.ids.len() >= MAX_PAIRS {
                break;
            }
            if *slot != NONE {
                other.for_each(*slot, now, |id| {
                    if accept(row, id) {
                        matches.ids.push(id);
                    }
                });
            }
            matches.ends.push(matches.ids.len());
        }
        match residual {
            Some(residual) if !matches.ids.is_empty() => matches.filter(port, changes, other, residual),
            _ => Ok(matches),
        }
    }

    /// The rows with their matches.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &[u32])> {
        let start = |place: usize| if place == 0 { 0 } else { self.ends[place - 1] };
        (0..self.ends.len()).map(move |place| (self.first + place, &self.ids[start(place)..self.ends[place]]))
    }

    /// The row behind the last.
    pub(super) fn end(&self) -> usize {
        self.first + self.ends.len()
    }

    /// Keeps the pairs that fulfil the residual condition.
    fn filter(
        self,
        port: usize,
        changes: &ChangelogBatch,
        other: &JoinSide,
        residual: &Residual,
    ) -> Result<Self> {
        let mut rows = Vec::with_capacity(self.ids.len());
        for (row, ids) in self.iter() {
            rows.resize(rows.len() + ids.len(), row as u32);
        }
        let mut kept = Vec::with_capacity(self.ids.len());
        let own_bytes = row_bytes(changes.batch().columns(), changes.num_rows());
        let mut start = 0;
        while start < self.ids.len() {
            let end = self.end_of_chunk(start, own_bytes, other);
            let pairs = UInt32Array::from(rows[start..end].to_vec());
            let other_columns = other.rows.columns(&self.ids[start..end])?;
            let mask = residual.evaluate(end - start, |of, place| -> Result<ArrayRef> {
                match of == port {
                    true => Ok(take(changes.batch().column(place), &pairs, None)?),
                    false => Ok(ArrayRef::clone(&other_columns[place])),
                }
            })?;
            kept.extend((0..mask.len()).map(|pair| mask.is_valid(pair) && mask.value(pair)));
            start = end;
        }
        let mut matches = Matches { first: self.first, ends: vec![], ids: vec![] };
        let mut pair = 0;
        for end in &self.ends {
            while pair < *end {
                if kept[pair] {
                    matches.ids.push(self.ids[pair]);
                }
                pair += 1;
            }
            matches.ends.push(matches.ids.len());
        }
        Ok(matches)
    }

    /// Where the pairs end that are looked at together, of those from `start` on.
    fn end_of_chunk(&self, start: usize, own_bytes: usize, other: &JoinSide) -> usize {
        let (mut end, mut bytes) = (start, 0);
        while end < self.ids.len() && end - start < MAX_PAIRS && bytes < MAX_PAIR_BYTES {
            bytes += own_bytes + other.bytes_of(self.ids[end]);
            end += 1;
        }
        end
    }
}
