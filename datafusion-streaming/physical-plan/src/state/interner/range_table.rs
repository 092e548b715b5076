//! A table of slots whose keys are whole numbers that lie close together.

use super::slot_table::NO_SLOT;

/// Finds slots by keys that are numbers: a place for each number from the least to the greatest key.
///
/// Numbers given out in order are the commonest keys there are (accounts, auctions, sensors). Where they have
/// no wide gaps a place for each of the numbers takes no more memory than a hash table, and finding one is
/// one read of four bytes, without a hash, and without a look at the key.
///
/// Numbers wrap: an unsigned 64-bit key is taken for the signed one of the same bits.
#[derive(Debug, Default)]
pub(super) struct RangeTable {
    /// The number of the first place.
    first: i64,
    /// By number less `first`; [`NO_SLOT`] where there is no key.
    slots: Vec<u32>,
    len: usize,
}

/// The range of numbers, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    least: i64,
    greatest: i64,
}

/// A range of so many numbers is narrow however few keys are in it.
const MIN_WIDTH: usize = 1024;

/// A range of more numbers than this for each key is wide.
const MAX_WIDTH_OF_KEY: usize = 4;

impl Range {
    /// The least range with all these numbers.
    pub(super) fn of(numbers: impl Iterator<Item = i64>) -> Option<Self> {
        numbers.fold(None, |range: Option<Range>, number| {
            let range = range.unwrap_or(Range { least: number, greatest: number });
            Some(Range { least: range.least.min(number), greatest: range.greatest.max(number) })
        })
    }

    /// Whether places for the whole range are worth their memory, if it has so many keys.
    pub(super) fn is_narrow(self, keys: usize) -> bool {
        self.width() <= MIN_WIDTH.max(keys.saturating_mul(MAX_WIDTH_OF_KEY)) as u64
    }

    /// The number of numbers; too few by one where it is all there are.
    fn width(self) -> u64 {
        (self.greatest.wrapping_sub(self.least) as u64).saturating_add(1)
    }

    fn union(self, other: Range) -> Self {
        Range { least: self.least.min(other.least), greatest: self.greatest.max(other.greatest) }
    }
}

impl RangeTable {
    /// The slot of a key, or [`NO_SLOT`].
    #[inline]
    pub(super) fn get(&self, key: i64) -> u32 {
        let place = key.wrapping_sub(self.first) as u64 as usize;
        self.slots.get(place).copied().unwrap_or(NO_SLOT)
    }

    /// Makes room for keys in `range`, of which at most `more` are new; `false` if the keys are then too far
    /// apart for this table, which stays as it is.
    pub(super) fn make_room(&mut self, range: Range, more: usize) -> bool {
        let last = self.first.wrapping_add(self.slots.len() as i64).wrapping_sub(1);
        if !self.slots.is_empty() && self.first <= range.least && range.greatest <= last {
            return true;
        }
        // places at either end whose keys are gone are given up: numbers wander
        let used = |slot: &u32| *slot != NO_SLOT;
        let (start, end) = match (self.slots.iter().position(used), self.slots.iter().rposition(used)) {
            (Some(start), Some(end)) => (start, end + 1),
            _ => (0, 0),
        };
        let needed = match start < end {
            true => range.union(Range {
                least: self.first.wrapping_add(start as i64),
                greatest: self.first.wrapping_add(end as i64 - 1),
            }),
            false => range,
        };
        if !needed.is_narrow(self.len + more) {
            return false;
        }
        // half as much again at the side that grows, so that a place is moved few times
        let slack = (needed.width() / 2) as i64;
        let grows_down = start < end && needed.least < self.first.wrapping_add(start as i64);
        let first = if grows_down { needed.least.saturating_sub(slack) } else { needed.least };
        let last = if grows_down { needed.greatest } else { needed.greatest.saturating_add(slack) };
        let mut slots = vec![NO_SLOT; Range { least: first, greatest: last }.width() as usize];
        if start < end {
            let at = self.first.wrapping_add(start as i64).wrapping_sub(first) as usize;
            slots[at..at + (end - start)].copy_from_slice(&self.slots[start..end]);
        }
        (self.first, self.slots) = (first, slots);
        true
    }

    /// Adds a key for which there is room and which is not there.
    #[inline]
    pub(super) fn insert(&mut self, key: i64, slot: u32) {
        let place = key.wrapping_sub(self.first) as u64 as usize;
        self.slots[place] = slot;
        self.len += 1;
    }

    /// Removes a key; whether it was there, with this slot.
    pub(super) fn remove(&mut self, key: i64, slot: u32) -> bool {
        let is_there = self.get(key) == slot && slot != NO_SLOT;
        if is_there {
            let place = key.wrapping_sub(self.first) as u64 as usize;
            self.slots[place] = NO_SLOT;
            self.len -= 1;
        }
        is_there
    }

    /// The slots of all keys.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().copied().filter(|slot| *slot != NO_SLOT)
    }

    /// Bytes held.
    pub(super) fn memory_size(&self) -> usize {
        self.slots.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn range(least: i64, greatest: i64) -> Range {
        Range { least, greatest }
    }

    #[test]
    fn it_takes_what_lies_close_together() {
        assert!(range(-10, 1_000).is_narrow(1));
        assert!(!range(0, 1_024).is_narrow(256));
        assert!(range(0, 1_023).is_narrow(0));
        assert!(range(0, 3_999).is_narrow(1_000));
        assert!(!range(i64::MIN, i64::MAX).is_narrow(1_000_000));
        assert!(!range(-1, i64::MAX).is_narrow(1_000_000));
        assert_eq!(Range::of([3, -4, 7].into_iter()), Some(range(-4, 7)));
        assert_eq!(Range::of([].into_iter()), None);
    }

    #[test]
    fn room_at_the_ends_of_all_numbers() {
        for (least, greatest) in [(i64::MAX - 3, i64::MAX), (i64::MIN, i64::MIN + 3)] {
            let mut table = RangeTable::default();
            assert!(table.make_room(range(least, greatest), 2));
            table.insert(least, 0);
            table.insert(greatest, 1);
            assert_eq!((table.get(least), table.get(greatest), table.get(0)), (0, 1, NO_SLOT));
            assert!(!table.make_room(range(0, 0), 1));
            assert_eq!((table.get(least), table.get(greatest)), (0, 1));
        }
    }

    #[test]
    fn numbers_wander_up_and_down() {
        let mut table = RangeTable::default();
        let mut model = BTreeMap::new();
        let mut slot = 0;
        for step in 0..4_000i64 {
            let centre = if step < 2_000 { step * 50 } else { 100_000 - (step - 2_000) * 100 };
            let keys = range(centre - 20, centre + 20);
            assert!(table.make_room(keys, 41), "step {step}");
            for key in keys.least..=keys.greatest {
                model.entry(key).or_insert_with(|| {
                    slot += 1;
                    table.insert(key, slot);
                    slot
                });
            }
            while model.len() > 300 {
                let oldest = *model.iter().min_by_key(|(_, slot)| **slot).unwrap().0;
                let slot = model.remove(&oldest).unwrap();
                assert!(table.remove(oldest, slot));
                assert!(!table.remove(oldest, slot));
            }
            for key in centre - 700..centre + 700 {
                assert_eq!(table.get(key), model.get(&key).copied().unwrap_or(NO_SLOT));
            }
        }
        let mut slots: Vec<u32> = table.slots().collect();
        slots.sort_unstable();
        assert_eq!(slots, {
            let mut all: Vec<u32> = model.values().copied().collect();
            all.sort_unstable();
            all
        });
        assert!(table.memory_size() < 40_000, "{}", table.memory_size());
    }
}
