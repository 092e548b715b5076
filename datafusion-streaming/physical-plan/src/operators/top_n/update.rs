//! Top-N of updates by key that only improve: a row that has fallen out comes back by its own update.

use arrow::row::Row;

use super::emitter::Emitter;
use super::operator::{Change, Changed, Ranking};
use crate::changelog::RowKind;
use crate::state::{RowId, RowStore, SortKey};

/// The rows of each partition, best first; of equal ones the first to come.
#[derive(Debug)]
pub(super) struct UpdateTopN<K> {
    partitions: Vec<Vec<Entry<K>>>,
    /// For each row key, the sort key of its row, if that is kept.
    sort_keys: Vec<Option<K>>,
    room: usize,
}

#[derive(Debug, Clone)]
struct Entry<K> {
    key: K,
    row: RowId,
    row_key: u32,
}

impl<K> Default for UpdateTopN<K> {
    fn default() -> Self {
        UpdateTopN { partitions: vec![], sort_keys: vec![], room: 0 }
    }
}

impl<K: SortKey> UpdateTopN<K> {
    /// A row whose key is kept.
    fn update(&mut self, change: Change<'_>, old: K, store: &mut RowStore, out: &mut Emitter) -> Changed {
        let best = &mut self.partitions[change.partition as usize];
        let from = best.partition_point(|entry| entry.key < old);
        let Some(offset) = best[from..].iter().position(|entry| entry.row_key == change.row_key) else {
            return Changed::Nothing;
        };
        let old_place = from + offset;
        let (old_row, new) = (store.place(best[old_place].row), store.place_in_batch(change.row));
        let key = K::of(change.key);
        if key == old {
            out.replace(old_row, new, old_place + 1);
            store.remove(best[old_place].row);
            best[old_place].row = store.add(change.row);
            return Changed::Written;
        }
        let gone = best.remove(old_place);
        let new_place = best.partition_point(|entry| entry.key <= key);
        if !out.is_ranked || new_place == old_place {
            out.replace(old_row, new, new_place + 1);
        } else if new_place < old_place {
            let mut current = new;
            for (rank, entry) in (new_place + 1..).zip(&best[new_place..old_place]) {
                let place = store.place(entry.row);
                out.push(RowKind::UpdateBefore, place, rank);
                if rank == new_place + 1 {
                    // a row must not be at two ranks at a time
                    out.push(RowKind::UpdateBefore, old_row, old_place + 1);
                }
                out.push(RowKind::UpdateAfter, current, rank);
                current = place;
            }
            out.push(RowKind::UpdateAfter, current, old_place + 1);
        } else {
            // the sort key got worse, which the planner has ruled out but for expired state
            out.push(RowKind::UpdateBefore, old_row, old_place + 1);
            for (rank, entry) in (old_place + 1..).zip(&best[old_place..new_place]) {
                let place = store.place(entry.row);
                out.push(RowKind::UpdateBefore, place, rank + 1);
                out.push(RowKind::UpdateAfter, place, rank);
            }
            out.push(RowKind::UpdateAfter, new, new_place + 1);
        }
        store.remove(gone.row);
        self.sort_keys[change.row_key as usize] = Some(key.clone());
        best.insert(new_place, Entry { key, row: store.add(change.row), row_key: change.row_key });
        Changed::Written
    }
}

impl<K: SortKey> Ranking for UpdateTopN<K> {
    fn grow(&mut self, partitions: usize, row_keys: usize) {
        self.partitions.resize_with(partitions, Vec::new);
        self.sort_keys.resize(row_keys, None);
    }

    fn change(&mut self, change: Change<'_>, store: &mut RowStore, out: &mut Emitter) -> Changed {
        if change.retraction {
            // the +U that follows tells all
            return Changed::Nothing;
        }
        if let Some(old) = self.sort_keys[change.row_key as usize].clone() {
            return self.update(change, old, store, out);
        }
        let (end, new) = (change.end, store.place_in_batch(change.row));
        let best = &mut self.partitions[change.partition as usize];
        let is_full = best.len() >= end;
        if is_full && best.last().is_none_or(|worst| worst.key.cmp_row(change.key).is_le()) {
            return Changed::Nothing;
        }
        let place = best.partition_point(|entry| entry.key.cmp_row(change.key).is_le());
        if out.is_ranked {
            let behind = best[place..].iter().map(|entry| store.place(entry.row));
            out.shift_down(new, place + 1, behind, end);
        } else if let Some(worst) = best.last().filter(|_| is_full) {
            match out.is_top_1 {
                true => out.replace(store.place(worst.row), new, 1),
                false => {
                    out.push(RowKind::Delete, store.place(worst.row), end);
                    out.push(RowKind::Insert, new, 1);
                }
            }
        } else {
            out.push(RowKind::Insert, new, 1);
        }
        if is_full && let Some(worst) = best.pop() {
            store.remove(worst.row);
            self.sort_keys[worst.row_key as usize] = None;
        }
        let key = K::of(change.key);
        self.sort_keys[change.row_key as usize] = Some(key.clone());
        let before = best.capacity();
        best.insert(place, Entry { key, row: store.add(change.row), row_key: change.row_key });
        self.room += best.capacity() - before;
        Changed::Written
    }

    fn rows(&self, partition: u32) -> Vec<RowId> {
        self.partitions.get(partition as usize).into_iter().flatten().map(|entry| entry.row).collect()
    }

    fn restore(&mut self, partition: u32, key: Row<'_>, row: RowId, row_key: u32) {
        let key = K::of(key);
        self.sort_keys[row_key as usize] = Some(key.clone());
        self.partitions[partition as usize].push(Entry { key, row, row_key });
    }

    fn clear(&mut self, partition: u32) -> Vec<RowId> {
        let entries = std::mem::take(&mut self.partitions[partition as usize]);
        self.room -= entries.capacity().min(self.room);
        for entry in &entries {
            self.sort_keys[entry.row_key as usize] = None;
        }
        entries.into_iter().map(|entry| entry.row).collect()
    }

    fn has_row_key(&self, row_key: u32) -> bool {
        self.sort_keys[row_key as usize].is_some()
    }

    fn memory_size(&self) -> usize {
        self.partitions.capacity() * size_of::<Vec<Entry<K>>>()
            + self.room * size_of::<Entry<K>>()
            + self.sort_keys.capacity() * size_of::<Option<K>>()
    }
}
