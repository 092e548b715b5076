//! Top-N by RANK and DENSE_RANK: rows of equal sort keys share a rank, and are in the range or out of it together.
//! Flink has neither.
//!
//! ```text
//!   RANK() <= 3, descending, ranks in the output          DENSE_RANK() <= 2
//!     rows 9 1, 7 2, 7 2; 9 comes:   -U 7 2  +U 7 3         rows 9 1, 7 2, 7 2; 8 comes:   -D 7 2  -D 7 2
//!                                    -U 7 2  +U 7 3  +I 9 1                                +I 8 2
//! ```
//!
//! Each row is told for itself: one that changes its rank is updated, what leaves the range is deleted, what
//! enters it is inserted.

use std::collections::BTreeMap;
use std::ops::Bound;

use arrow::row::Row;

use super::emitter::Emitter;
use super::operator::{Change, Changed, Ranking};
use crate::changelog::RowKind;
use crate::state::{Place, RowId, RowStore, SortKey};

/// The rows of each partition by sort key; of equal ones the first to come first.
#[derive(Debug)]
pub(super) struct TiedTopN<K> {
    partitions: Vec<BTreeMap<K, Vec<RowId>>>,
    /// Whether ranks have no gaps.
    dense: bool,
    /// The columns in which a row must agree to be taken back. `None`: none is taken back, and what falls out of the
    /// range is gone.
    compared: Option<Vec<usize>>,
    rows: usize,
    groups: usize,
}

impl<K> TiedTopN<K> {
    pub(super) fn new(dense: bool, compared: Option<Vec<usize>>) -> Self {
        TiedTopN { partitions: vec![], dense, compared, rows: 0, groups: 0 }
    }
}

/// How far a group of so many rows moves those behind it.
fn step(dense: bool, rows: usize) -> usize {
    if dense { rows.min(1) } else { rows }
}

/// The rank of a sort key, or one beyond the last.
fn rank_of<K: SortKey>(groups: &BTreeMap<K, Vec<RowId>>, key: &K, dense: bool, end: usize) -> usize {
    let mut rank = 1;
    for (other, rows) in groups {
        if other >= key || rank > end {
            break;
        }
        rank += step(dense, rows.len());
    }
    rank
}

/// A row goes from one rank to another; `end` is the last in the range.
fn tell_move(place: Place, old: usize, new: usize, end: usize, out: &mut Emitter) {
    let in_range = |rank: usize| rank >= out.start && rank <= end;
    match (in_range(old), in_range(new)) {
        (true, true) if out.has_rank => {
            out.push(RowKind::UpdateBefore, place, old);
            out.push(RowKind::UpdateAfter, place, new);
        }
        (true, false) => out.push(RowKind::Delete, place, old),
        (false, true) => out.push(RowKind::Insert, place, new),
        _ => {}
    }
}

impl<K: SortKey> TiedTopN<K> {
    fn insert(&mut self, change: Change<'_>, store: &mut RowStore, out: &mut Emitter) -> Changed {
        let (end, dense, key) = (change.end, self.dense, K::of(change.key));
        let new = store.place_in_batch(change.row);
        let groups = &mut self.partitions[change.partition as usize];
        let rank = rank_of(groups, &key, dense, end);
        let keeps_all = self.compared.is_some();
        if rank > end && !keeps_all {
            return Changed::Nothing;
        }
        let peers = groups.get(&key).map_or(0, Vec::len);
        let shift = step(dense, peers + 1) - step(dense, peers);
        let mut behind = rank + step(dense, peers);
        let mut last_leaves = false;
        if shift > 0 {
            for rows in groups.range((Bound::Excluded(&key), Bound::Unbounded)).map(|(_, rows)| rows) {
                if behind > end {
                    break;
                }
                for row in rows {
                    tell_move(store.place(*row), behind, behind + shift, end, out);
                }
                last_leaves = behind + shift > end;
                behind += step(dense, rows.len());
            }
        }
        if rank <= end {
            out.push(RowKind::Insert, new, rank);
        }
        if last_leaves
            && !keeps_all
            && let Some((_, rows)) = groups.pop_last()
        {
            self.rows -= rows.len();
            self.groups -= 1;
            rows.into_iter().for_each(|row| store.remove(row));
        }
        groups.entry(key).or_default().push(store.add(change.row));
        self.rows += 1;
        self.groups += usize::from(peers == 0);
        Changed::Written
    }

    fn retract(
        &mut self,
        change: Change<'_>,
        compared: &[usize],
        store: &mut RowStore,
        out: &mut Emitter,
    ) -> Changed {
        let (end, dense, key) = (change.end, self.dense, K::of(change.key));
        let groups = &mut self.partitions[change.partition as usize];
        let Some(rows) = groups.get(&key) else { return Changed::Unknown };
        let Some(found) = rows.iter().position(|row| store.equals(*row, change.row, compared)) else {
            return Changed::Unknown;
        };
        let (gone, peers) = (rows[found], rows.len());
        let rank = rank_of(groups, &key, dense, end);
        if rank <= end {
            out.push(RowKind::Delete, store.place(gone), rank);
        }
        let shift = step(dense, peers) - step(dense, peers - 1);
        let mut behind = rank + step(dense, peers);
        if shift > 0 {
            for rows in groups.range((Bound::Excluded(&key), Bound::Unbounded)).map(|(_, rows)| rows) {
                if behind - shift > end {
                    break;
                }
                for row in rows {
                    tell_move(store.place(*row), behind, behind - shift, end, out);
                }
                behind += step(dense, rows.len());
            }
        }
        if peers == 1 {
            groups.remove(&key);
            self.groups -= 1;
        } else if let Some(rows) = groups.get_mut(&key) {
            rows.remove(found);
        }
        store.remove(gone);
        self.rows -= 1;
        Changed::Written
    }
}

impl<K: SortKey> Ranking for TiedTopN<K> {
    fn grow(&mut self, partitions: usize, _row_keys: usize) {
        self.partitions.resize_with(partitions, BTreeMap::new);
    }

    fn change(&mut self, change: Change<'_>, store: &mut RowStore, out: &mut Emitter) -> Changed {
        if !change.retraction {
            return self.insert(change, store, out);
        }
        let Some(compared) = self.compared.take() else { return Changed::Unknown };
        let changed = self.retract(change, &compared, store, out);
        self.compared = Some(compared);
        changed
    }

    fn rows(&self, partition: u32) -> Vec<RowId> {
        let groups = self.partitions.get(partition as usize).into_iter().flat_map(BTreeMap::values);
        groups.flatten().copied().collect()
    }

    fn restore(&mut self, partition: u32, key: Row<'_>, row: RowId, _row_key: u32) {
        let rows = self.partitions[partition as usize].entry(K::of(key)).or_default();
        self.groups += usize::from(rows.is_empty());
        rows.push(row);
        self.rows += 1;
    }

    fn clear(&mut self, partition: u32) -> Vec<RowId> {
        let groups = std::mem::take(&mut self.partitions[partition as usize]);
        self.groups -= groups.len();
        let rows: Vec<RowId> = groups.into_values().flatten().collect();
        self.rows -= rows.len();
        rows
    }

    fn memory_size(&self) -> usize {
        // a B-tree is two thirds full on average, a vector at least half
        self.partitions.capacity() * size_of::<BTreeMap<K, Vec<RowId>>>()
            + self.groups * size_of::<(K, Vec<RowId>)>() * 3 / 2
            + self.rows * size_of::<RowId>() * 2
    }
}
