//! Top-N of appends: the first N rows of each partition, in order.

use arrow::row::Row;

use super::emitter::Emitter;
use super::operator::{Change, Changed, Ranking};
use crate::changelog::RowKind;
use crate::state::{RowId, RowStore, SortKey};

/// The rows of each partition, best first; of equal ones the first to come.
#[derive(Debug)]
pub(super) struct AppendTopN<K> {
    partitions: Vec<Vec<(K, RowId)>>,
    /// Entries there is room for.
    room: usize,
}

impl<K> Default for AppendTopN<K> {
    fn default() -> Self {
        AppendTopN { partitions: vec![], room: 0 }
    }
}

impl<K: SortKey> Ranking for AppendTopN<K> {
    fn grow(&mut self, partitions: usize, _row_keys: usize) {
        self.partitions.resize_with(partitions, Vec::new);
    }

    fn change(&mut self, change: Change<'_>, store: &mut RowStore, out: &mut Emitter) -> Changed {
        let (end, new) = (change.end, store.place_in_batch(change.row));
        let best = &mut self.partitions[change.partition as usize];
        let is_full = best.len() >= end;
        if is_full && best.last().is_none_or(|(worst, _)| worst.cmp_row(change.key).is_le()) {
            return Changed::Nothing;
        }
        let place = best.partition_point(|(key, _)| key.cmp_row(change.key).is_le());
        if out.is_ranked {
            let behind = best[place..].iter().map(|(_, row)| store.place(*row));
            out.shift_down(new, place + 1, behind, end);
        } else if let Some((_, worst)) = best.last().filter(|_| is_full) {
            match out.is_top_1 {
                true => out.replace(store.place(*worst), new, 1),
                false => {
                    out.push(RowKind::Delete, store.place(*worst), end);
                    out.push(RowKind::Insert, new, 1);
                }
            }
        } else {
            out.push(RowKind::Insert, new, 1);
        }
        if is_full && let Some((_, worst)) = best.pop() {
            store.remove(worst);
        }
        let before = best.capacity();
        best.insert(place, (K::of(change.key), store.add(change.row)));
        self.room += best.capacity() - before;
        Changed::Written
    }

    fn rows(&self, partition: u32) -> Vec<RowId> {
        self.partitions.get(partition as usize).into_iter().flatten().map(|(_, row)| *row).collect()
    }

    fn restore(&mut self, partition: u32, key: Row<'_>, row: RowId, _row_key: u32) {
        self.partitions[partition as usize].push((K::of(key), row));
    }

    fn clear(&mut self, partition: u32) -> Vec<RowId> {
        let rows = std::mem::take(&mut self.partitions[partition as usize]);
        self.room -= rows.capacity().min(self.room);
        rows.into_iter().map(|(_, row)| row).collect()
    }

    fn memory_size(&self) -> usize {
        self.partitions.capacity() * size_of::<Vec<(K, RowId)>>() + self.room * size_of::<(K, RowId)>()
    }
}
