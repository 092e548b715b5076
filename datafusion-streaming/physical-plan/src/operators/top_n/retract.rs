//! Top-N of any changelog: all rows are kept, since any may come back.

use std::collections::BTreeMap;
use std::ops::Bound;

use arrow::row::Row;

use super::emitter::Emitter;
use super::operator::{Change, Changed, Ranking};
use crate::changelog::RowKind;
use crate::state::{Place, RowId, RowStore, SortKey};

/// The rows of each partition by sort key and arrival.
#[derive(Debug)]
pub(super) struct RetractTopN<K> {
    partitions: Vec<BTreeMap<(K, u64), RowId>>,
    /// The columns in which a row must agree to be taken back.
    compared: Vec<usize>,
    arrivals: u64,
    rows: usize,
}

impl<K> RetractTopN<K> {
    pub(super) fn new(compared: Vec<usize>) -> Self {
        RetractTopN { partitions: vec![], compared, arrivals: 0, rows: 0 }
    }
}

impl<K: SortKey> RetractTopN<K> {
    fn insert(&mut self, change: Change<'_>, store: &mut RowStore, out: &mut Emitter) {
        let (end, key) = (change.end, K::of(change.key));
        let new = store.place_in_batch(change.row);
        let rows = &mut self.partitions[change.partition as usize];
        let first = rows.iter().take(end);
        // how many rows stay in front, as far as that matters
        let before = first.clone().take_while(|((other, _), _)| *other <= key).count();
        if before < end {
            if out.is_ranked {
                out.shift_down(new, before + 1, first.skip(before).map(|(_, row)| store.place(*row)), end);
            } else {
                if rows.len() >= end
                    && let Some((_, row)) = rows.iter().nth(end - 1)
                {
                    out.push(RowKind::Delete, store.place(*row), end);
                }
                out.push(RowKind::Insert, new, before + 1);
            }
        }
        self.arrivals += 1;
        rows.insert((key, self.arrivals), store.add(change.row));
        self.rows += 1;
    }

    fn retract(&mut self, change: Change<'_>, store: &mut RowStore, out: &mut Emitter) -> Changed {
        let (end, key) = (change.end, K::of(change.key));
        let rows = &mut self.partitions[change.partition as usize];
        let equal_keys =
            rows.range((Bound::Included((key.clone(), 0)), Bound::Included((key.clone(), u64::MAX))));
        let mut is_same = equal_keys.filter(|(_, row)| store.equals(**row, change.row, &self.compared));
        let Some((found, row)) = is_same.next().map(|(found, row)| (found.clone(), *row)) else {
            return Changed::Unknown;
        };
        let mut first = rows.iter().take(end);
        if let Some(before) = first.position(|(other, _)| *other == found) {
            let gone = store.place(row);
            let mut behind = rows.iter().skip(before + 1).map(|(_, row)| store.place(*row));
            if out.is_ranked {
                shift_up(gone, before + 1, behind, end, out);
            } else {
                out.push(RowKind::Delete, gone, before + 1);
                if let Some(next) = behind.nth(end - before - 1) {
                    out.push(RowKind::Insert, next, end);
                }
            }
        }
        rows.remove(&found);
        store.remove(row);
        self.rows -= 1;
        Changed::Written
    }
}

/// The row at `rank` goes: those behind it move up by one, and one from beyond the last rank `end`
/// comes in.
fn shift_up(gone: Place, rank: usize, behind: impl Iterator<Item = Place>, end: usize, out: &mut Emitter) {
    let mut current = gone;
    let mut rank = rank;
    for place in behind {
        if rank > end {
            return;
        }
        out.replace(current, place, rank);
        current = place;
        rank += 1;
    }
    if rank <= end {
        out.push(RowKind::Delete, current, rank);
    }
}

impl<K: SortKey> Ranking for RetractTopN<K> {
    fn grow(&mut self, partitions: usize, _row_keys: usize) {
        self.partitions.resize_with(partitions, BTreeMap::new);
    }

    fn change(&mut self, change: Change<'_>, store: &mut RowStore, out: &mut Emitter) -> Changed {
        if change.retraction {
            return self.retract(change, store, out);
        }
        self.insert(change, store, out);
        Changed::Written
    }

    fn rows(&self, partition: u32) -> Vec<RowId> {
        self.partitions.get(partition as usize).into_iter().flat_map(BTreeMap::values).copied().collect()
    }

    fn restore(&mut self, partition: u32, key: Row<'_>, row: RowId, _row_key: u32) {
        self.arrivals += 1;
        self.partitions[partition as usize].insert((K::of(key), self.arrivals), row);
        self.rows += 1;
    }

    fn clear(&mut self, partition: u32) -> Vec<RowId> {
        let rows = std::mem::take(&mut self.partitions[partition as usize]);
        self.rows -= rows.len();
        rows.into_values().collect()
    }

    fn memory_size(&self) -> usize {
        // a B-tree is two thirds full on average
        self.partitions.capacity() * size_of::<BTreeMap<(K, u64), RowId>>()
            + self.rows * size_of::<((K, u64), RowId)>() * 3 / 2
    }
}
