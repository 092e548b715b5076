//! The cache of keys that were looked up.

use std::collections::VecDeque;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion_common::Result;

use super::PartialCache;
use crate::state::{KeyInterner, RowArena};

/// Rows by key, as many as the options allow: the least recently used keys give way.
pub(super) struct KeyCache {
    options: PartialCache,
    keys: KeyInterner,
    rows: RowArena,
    /// By key slot; `None` for a slot that has no entry (any more).
    entries: Vec<Option<Entry>>,
    len: usize,
    /// Slots and the stamps of their uses, the oldest first: that of an entry's last use counts.
    used: VecDeque<(u32, u64)>,
    /// Slots and stamps of their writes, the oldest first, where entries expire after that.
    written: VecDeque<(u32, u64)>,
    stamp: u64,
}

struct Entry {
    rows: Vec<u32>,
    written: i64,
    written_stamp: u64,
    used: i64,
    used_stamp: u64,
}

/// What a cache knows of some keys.
pub(super) struct Cached {
    /// By key: whether the cache has it.
    pub known: Vec<bool>,
    /// The rows of those that it has, as columns.
    pub columns: Vec<ArrayRef>,
    /// The number of the key that each row is of.
    pub of_key: Vec<u32>,
}

impl KeyCache {
    pub(super) fn try_new(options: PartialCache, key_types: &[DataType], schema: &SchemaRef) -> Result<Self> {
        let types: Vec<_> = schema.fields().iter().map(|field| field.data_type().clone()).collect();
        Ok(KeyCache {
            options,
            keys: KeyInterner::try_new(key_types)?,
            rows: RowArena::try_new(&types)?,
            entries: vec![],
            len: 0,
            used: VecDeque::new(),
            written: VecDeque::new(),
            stamp: 0,
        })
    }

    /// What is known of `count` keys, at the time `now`.
    pub(super) fn get(&mut self, keys: &[ArrayRef], count: usize, now: i64) -> Result<Cached> {
        self.expire(now);
        let slots = self.slots_of(keys, count)?;
        let mut cached = Cached { known: Vec::with_capacity(count), columns: vec![], of_key: vec![] };
        let mut ids = vec![];
        let mut unknown = vec![];
        for (key, slot) in slots.iter().enumerate() {
            self.stamp += 1;
            let entry = self.entries[*slot as usize].as_mut();
            cached.known.push(entry.is_some());
            match entry {
                Some(entry) => {
                    entry.used = now;
                    entry.used_stamp = self.stamp;
                    self.used.push_back((*slot, self.stamp));
                    ids.extend_from_slice(&entry.rows);
                    cached.of_key.resize(ids.len(), key as u32);
                }
                None => unknown.push(*slot),
            }
        }
        self.keys.release(&unknown);
        cached.columns = self.rows.columns(&ids)?;
        self.trim();
        Ok(cached)
    }

    /// Takes in what was found for `count` keys: rows, and the number of the key that each is of.
    pub(super) fn put(
        &mut self,
        keys: &[ArrayRef],
        count: usize,
        columns: &[ArrayRef],
        of_key: &[u32],
        now: i64,
    ) -> Result<()> {
        let encoded = self.rows.encode(columns)?;
        let mut rows_of: Vec<Vec<usize>> = vec![vec![]; count];
        for (row, key) in of_key.iter().enumerate() {
            if let Some(rows) = rows_of.get_mut(*key as usize) {
                rows.push(row);
            }
        }
        let slots = self.slots_of(keys, count)?;
        let mut unused = vec![];
        for (slot, found) in slots.iter().zip(rows_of) {
            // another batch may have looked up the same key in the meantime
            self.remove(*slot);
            if found.is_empty() && !self.options.cache_missing_key {
                unused.push(*slot);
                continue;
            }
            let rows = found.into_iter().map(|row| self.rows.insert(encoded.get(row)));
            let rows = rows.collect::<Result<Vec<_>>>()?;
            self.stamp += 1;
            let stamp = self.stamp;
            self.used.push_back((*slot, stamp));
            if self.options.expire_after_write.is_some() {
                self.written.push_back((*slot, stamp));
            }
            let entry = Entry { rows, written: now, written_stamp: stamp, used: now, used_stamp: stamp };
            self.entries[*slot as usize] = Some(entry);
            self.len += 1;
        }
        self.keys.release(&unused);
        self.evict();
        self.trim();
        Ok(())
    }

    /// Bytes held.
    pub(super) fn memory_size(&self) -> usize {
        let ids: usize = self.entries.iter().flatten().map(|entry| entry.rows.capacity()).sum();
        self.keys.memory_size()
            + self.rows.memory_size()
            + self.entries.capacity() * size_of::<Option<Entry>>()
            + ids * size_of::<u32>()
            + (self.used.capacity() + self.written.capacity()) * size_of::<(u32, u64)>()
    }

    fn slots_of(&mut self, keys: &[ArrayRef], count: usize) -> Result<Vec<u32>> {
        let mut slots = vec![];
        self.keys.intern(keys, count, &mut slots)?;
        self.entries.resize_with(self.keys.slots(), || None);
        Ok(slots)
    }

    /// Drops a slot's entry, but not its key.
    fn remove(&mut self, slot: u32) {
        if let Some(entry) = self.entries[slot as usize].take() {
            self.len -= 1;
            entry.rows.into_iter().for_each(|row| self.rows.remove(row));
        }
    }

    fn forget(&mut self, slot: u32) {
        self.remove(slot);
        self.keys.release(&[slot]);
    }

    fn expire(&mut self, now: i64) {
        if let Some(span) = self.options.expire_after_write {
            while let Some((slot, stamp)) = self.written.front().copied() {
                let entry = self.entries[slot as usize].as_ref();
                match entry.filter(|entry| entry.written_stamp == stamp) {
                    Some(entry) if entry.written.saturating_add(span) > now => break,
                    Some(_) => self.forget(slot),
                    None => {}
                }
                self.written.pop_front();
            }
        }
        if let Some(span) = self.options.expire_after_access {
            while let Some((slot, stamp)) = self.used.front().copied() {
                let entry = self.entries[slot as usize].as_ref();
                match entry.filter(|entry| entry.used_stamp == stamp) {
                    Some(entry) if entry.used.saturating_add(span) > now => break,
                    Some(_) => self.forget(slot),
                    None => {}
                }
                self.used.pop_front();
            }
        }
    }

    fn evict(&mut self) {
        let Some(max) = self.options.max_rows else { return };
        while self.len > max {
            let Some((slot, stamp)) = self.used.pop_front() else { return };
            if self.entries[slot as usize].as_ref().is_some_and(|entry| entry.used_stamp == stamp) {
                self.forget(slot);
            }
        }
    }

    /// Drops the traces of uses and writes that later ones have made void, when they are the most.
    fn trim(&mut self) {
        let bound = 2 * self.len + 64;
        if self.used.len() > bound {
            let entries = &self.entries;
            self.used.retain(|(slot, stamp)| {
                entries[*slot as usize].as_ref().is_some_and(|entry| entry.used_stamp == *stamp)
            });
        }
        if self.written.len() > bound {
            let entries = &self.entries;
            self.written.retain(|(slot, stamp)| {
                entries[*slot as usize].as_ref().is_some_and(|entry| entry.written_stamp == *stamp)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::{Field, Int64Type, Schema};

    use super::*;

    fn cache(options: PartialCache) -> Result<KeyCache> {
        let schema = Arc::new(Schema::new(vec![Field::new("v", DataType::Int64, false)]));
        KeyCache::try_new(options, &[DataType::Int64], &schema)
    }

    fn column(values: &[i64]) -> Vec<ArrayRef> {
        vec![Arc::new(Int64Array::from(values.to_vec()))]
    }

    /// What is known of each key: its rows, or nothing.
    fn known(cache: &mut KeyCache, keys: &[i64], now: i64) -> Result<Vec<Option<Vec<i64>>>> {
        let cached = cache.get(&column(keys), keys.len(), now)?;
        let values = match cached.of_key.is_empty() {
            true => vec![],
            false => cached.columns[0].as_primitive::<Int64Type>().values().to_vec(),
        };
        let rows = |key: usize| {
            let of_key = cached.of_key.iter().zip(&values).filter(|(of, _)| **of as usize == key);
            of_key.map(|(_, value)| *value).collect::<Vec<_>>()
        };
        Ok(cached.known.iter().enumerate().map(|(key, known)| known.then(|| rows(key))).collect())
    }

    #[test]
    fn the_least_recently_used_key_gives_way() -> Result<()> {
        let mut cache = cache(PartialCache { max_rows: Some(2), ..PartialCache::default() })?;
        cache.put(&column(&[1, 2]), 2, &column(&[10, 11, 20]), &[0, 0, 1], 0)?;
        assert_eq!(known(&mut cache, &[1], 1)?, [Some(vec![10, 11])]);
        cache.put(&column(&[3]), 1, &column(&[]), &[], 2)?;
        assert_eq!(known(&mut cache, &[1, 2, 3], 3)?, [Some(vec![10, 11]), None, Some(vec![])]);
        // a key again, with other rows
        cache.put(&column(&[1]), 1, &column(&[12]), &[0], 4)?;
        assert_eq!(known(&mut cache, &[1], 5)?, [Some(vec![12])]);
        assert_eq!(cache.len, 2);
        Ok(())
    }

    #[test]
    fn entries_expire_after_they_were_written_or_read() -> Result<()> {
        let mut written = cache(PartialCache { expire_after_write: Some(10), ..PartialCache::default() })?;
        written.put(&column(&[1]), 1, &column(&[10]), &[0], 0)?;
        assert_eq!(known(&mut written, &[1], 9)?, [Some(vec![10])]);
        assert_eq!(known(&mut written, &[1], 10)?, [None]);

        let mut read = cache(PartialCache { expire_after_access: Some(10), ..PartialCache::default() })?;
        read.put(&column(&[1]), 1, &column(&[10]), &[0], 0)?;
        assert_eq!(known(&mut read, &[1], 9)?, [Some(vec![10])]);
        assert_eq!(known(&mut read, &[1], 18)?, [Some(vec![10])]);
        assert_eq!(known(&mut read, &[1], 28)?, [None]);
        Ok(())
    }

    #[test]
    fn keys_without_rows_are_kept_in_mind_unless_told_otherwise() -> Result<()> {
        let mut forgetting = cache(PartialCache { cache_missing_key: false, ..PartialCache::default() })?;
        forgetting.put(&column(&[1, 2]), 2, &column(&[20]), &[1], 0)?;
        assert_eq!(known(&mut forgetting, &[1, 2], 1)?, [None, Some(vec![20])]);
        Ok(())
    }

    #[test]
    fn many_reads_leave_no_traces() -> Result<()> {
        let mut cache = cache(PartialCache::default())?;
        cache.put(&column(&[1]), 1, &column(&[10]), &[0], 0)?;
        for now in 0..1000 {
            known(&mut cache, &[1], now)?;
        }
        assert!(cache.used.len() < 100, "{}", cache.used.len());
        Ok(())
    }
}
