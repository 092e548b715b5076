//! A hash table of slots whose keys are kept elsewhere.

/// Finds slots by the hash of their keys: open addressing with linear probing, one word an entry.
///
/// ```text
///   entry:  | tag: the upper 32 bits of the hash | slot + 1 |     0: empty
/// ```
///
/// An entry starts looking for a place at the upper bits of its tag. The tag alone thus tells where an entry
/// may be, and neither growing nor removing looks at keys. Entries of large tables are rarely in a cache:
/// [`SlotTable::first`] is for reading those of many keys at once, which the processor overlaps.
#[derive(Debug, Default)]
pub(super) struct SlotTable {
    /// A power of two of them, or none.
    entries: Vec<u64>,
    len: usize,
}

/// What [`SlotTable`] knows of a key.
pub(super) type Tag = u32;

/// No slot has this number.
pub(super) const NO_SLOT: u32 = u32::MAX;

const MIN_ENTRIES: usize = 16;

impl SlotTable {
    /// The tag of a hash.
    #[inline]
    pub(super) fn tag(hash: u64) -> Tag {
        (hash >> 32) as Tag
    }

    /// The slot in the place where a search for this tag begins, or [`NO_SLOT`] if that has another tag.
    /// Without a branch: what is there is not foreseeable.
    #[inline]
    pub(super) fn first(&self, tag: Tag) -> u32 {
        let entry = self.entries.get(self.home(tag)).copied().unwrap_or(0);
        // of an empty entry the slot is 0 - 1
        let slot = (entry as u32).wrapping_sub(1);
        if (entry >> 32) as Tag == tag { slot } else { NO_SLOT }
    }

    /// The slot of this tag whose key is the wanted one.
    #[inline]
    pub(super) fn find(&self, tag: Tag, is_wanted: impl Fn(u32) -> bool) -> Option<u32> {
        let mut place = self.home(tag);
        loop {
            let entry = *self.entries.get(place).filter(|entry| **entry != 0)?;
            if let Some(slot) = slot_of(entry, tag).filter(|slot| is_wanted(*slot)) {
                return Some(slot);
            }
            place = self.next(place);
        }
    }

    /// Adds a slot, which must not be there.
    pub(super) fn insert(&mut self, tag: Tag, slot: u32) {
        // at most five eighths full
        if (self.len + 1) * 8 > self.entries.len() * 5 {
            self.grow();
        }
        self.put(u64::from(tag) << 32 | (u64::from(slot) + 1));
        self.len += 1;
    }

    /// Removes a slot; whether it was there.
    pub(super) fn remove(&mut self, tag: Tag, slot: u32) -> bool {
        let entry = u64::from(tag) << 32 | (u64::from(slot) + 1);
        let mut hole = self.home(tag);
        loop {
            match self.entries.get(hole) {
                None | Some(0) => return false,
                Some(other) if *other == entry => break,
                Some(_) => hole = self.next(hole),
            }
        }
        self.len -= 1;
        // moves entries back that would not be found behind the hole
        let mut place = hole;
        loop {
            place = self.next(place);
            let other = self.entries[place];
            if other == 0 {
                self.entries[hole] = 0;
                return true;
            }
            let home = self.home((other >> 32) as Tag);
            let mask = self.entries.len() - 1;
            if place.wrapping_sub(home) & mask >= place.wrapping_sub(hole) & mask {
                self.entries[hole] = other;
                hole = place;
            }
        }
    }

    /// The number of slots.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The slots, in no order.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().filter(|entry| **entry != 0).map(|entry| *entry as u32 - 1)
    }

    /// Bytes held.
    pub(super) fn memory_size(&self) -> usize {
        self.entries.capacity() * size_of::<u64>()
    }

    #[inline]
    fn home(&self, tag: Tag) -> usize {
        // the upper bits of the tag, as many as there are bits in a place
        ((u64::from(tag) * self.entries.len() as u64) >> 32) as usize
    }

    #[inline]
    fn next(&self, place: usize) -> usize {
        (place + 1) & (self.entries.len() - 1)
    }

    fn put(&mut self, entry: u64) {
        let mut place = self.home((entry >> 32) as Tag);
        while self.entries[place] != 0 {
            place = self.next(place);
        }
        self.entries[place] = entry;
    }

    fn grow(&mut self) {
        let entries = vec![0; (self.entries.len() * 2).max(MIN_ENTRIES)];
        // in the order of their tags, so that the new places are written from the first to the last
        for entry in std::mem::replace(&mut self.entries, entries) {
            if entry != 0 {
                self.put(entry);
            }
        }
    }
}

/// The slot of an entry that has this tag.
#[inline]
fn slot_of(entry: u64, tag: Tag) -> Option<u32> {
    ((entry >> 32) as Tag == tag && entry as u32 != 0).then(|| (entry as u32) - 1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Tags that often start at the same place.
    fn tag(key: u32) -> Tag {
        key.wrapping_mul(0x9e37_79b9) & 0xff80_0001
    }

    #[test]
    fn it_finds_what_is_there() {
        let mut table = SlotTable::default();
        assert_eq!(table.first(7), NO_SLOT);
        assert_eq!(table.find(7, |_| true), None);
        assert!(!table.remove(7, 0));
        let mut model = BTreeMap::new();
        let mut random = 1u64;
        for step in 0..50_000u32 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = (random >> 40) as u32 % if step % 20_000 < 10_000 { 3_000 } else { 300 };
            match model.remove(&key) {
                Some(slot) => assert!(table.remove(tag(key), slot)),
                None => {
                    model.insert(key, step);
                    table.insert(tag(key), step);
                }
            }
            if step % 1_000 == 0 {
                for key in 0..3_000 {
                    let wanted = model.get(&key).copied();
                    assert_eq!(table.find(tag(key), |slot| Some(slot) == wanted), wanted);
                    let first = table.first(tag(key));
                    assert!(first == NO_SLOT || model.values().any(|known| *known == first));
                }
            }
        }
        assert_eq!(table.len(), model.len());
    }
}
