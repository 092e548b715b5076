//! Values in the order of their arrival.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;

use ahash::RandomState;

/// Up to so many values are searched one by one.
const MAX_SEARCHED: usize = 64;

/// An index of values is given up when it has shrunk to so many.
const MIN_INDEXED: usize = MAX_SEARCHED / 4;

/// Values with the numbers of their arrival, from which the oldest of equal ones can be taken.
#[derive(Debug)]
pub(super) enum Arrivals<K> {
    /// Few values, in order.
    Few(Vec<(u64, K)>),
    /// Many values.
    Many(Box<Indexed<K>>),
}

/// Values by their numbers, and their numbers by hash.
#[derive(Debug)]
pub(super) struct Indexed<K> {
    by_number: BTreeMap<u64, K>,
    /// The numbers of the values with a hash, in order.
    by_hash: HashMap<u64, VecDeque<u64>, RandomState>,
    hasher: RandomState,
}

/// Which ends of the order a value has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) first: bool,
    pub(super) last: bool,
}

impl<K> Default for Arrivals<K> {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl<K: Hash + Eq> Indexed<K> {
    fn new(values: Vec<(u64, K)>) -> Self {
        let hasher = RandomState::new();
        let mut indexed =
            Self { by_number: BTreeMap::new(), by_hash: HashMap::with_hasher(hasher.clone()), hasher };
        for (number, value) in values {
            indexed.insert(number, value);
        }
        indexed
    }

    fn insert(&mut self, number: u64, value: K) {
        let numbers = self.by_hash.entry(self.hasher.hash_one(&value)).or_default();
        let at = numbers.partition_point(|other| *other <= number);
        numbers.insert(at, number);
        self.by_number.insert(number, value);
    }

    fn take_oldest<Q>(&mut self, probe: &Q) -> Option<(Taken, K)>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.hasher.hash_one(probe);
        let numbers = self.by_hash.get_mut(&hash)?;
        let same = |number: &u64| self.by_number.get(number).is_some_and(|value| value.borrow() == probe);
        let number = numbers.remove(numbers.iter().position(same)?)?;
        if numbers.is_empty() {
            self.by_hash.remove(&hash);
        }
        let first = self.by_number.first_key_value().is_some_and(|(first, _)| *first == number);
        let last = self.by_number.last_key_value().is_some_and(|(last, _)| *last == number);
        self.by_number.remove(&number).map(|value| (Taken { first, last }, value))
    }
}

impl<K: Hash + Eq> Arrivals<K> {
    /// Adds a value. Most come with the highest number, but a merged one may come earlier.
    pub(super) fn insert(&mut self, number: u64, value: K) {
        match self {
            Self::Few(values) => {
                let at = match values.last() {
                    Some((last, _)) if *last > number => {
                        values.partition_point(|(other, _)| *other <= number)
                    }
                    _ => values.len(),
                };
                values.insert(at, (number, value));
                if values.len() > MAX_SEARCHED {
                    *self = Self::Many(Box::new(Indexed::new(std::mem::take(values))));
                }
            }
            Self::Many(indexed) => indexed.insert(number, value),
        }
    }

    /// Takes the oldest value that equals `probe`, if there is one.
    pub(super) fn take_oldest<Q>(&mut self, probe: &Q) -> Option<(Taken, K)>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        match self {
            Self::Few(values) => {
                let at = values.iter().position(|(_, value)| value.borrow() == probe)?;
                let (_, value) = values.remove(at);
                Some((Taken { first: at == 0, last: at == values.len() }, value))
            }
            Self::Many(indexed) => {
                let taken = indexed.take_oldest(probe);
                if indexed.by_number.len() <= MIN_INDEXED {
                    *self = Self::Few(std::mem::take(&mut indexed.by_number).into_iter().collect());
                }
                taken
            }
        }
    }

    pub(super) fn first(&self) -> Option<&K> {
        match self {
            Self::Few(values) => values.first().map(|(_, value)| value),
            Self::Many(indexed) => indexed.by_number.first_key_value().map(|(_, value)| value),
        }
    }

    pub(super) fn last(&self) -> Option<&K> {
        match self {
            Self::Few(values) => values.last().map(|(_, value)| value),
            Self::Many(indexed) => indexed.by_number.last_key_value().map(|(_, value)| value),
        }
    }

    /// The values with their numbers, in order.
    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = (u64, &K)> + '_> {
        match self {
            Self::Few(values) => Box::new(values.iter().map(|(number, value)| (*number, value))),
            Self::Many(indexed) => Box::new(indexed.by_number.iter().map(|(number, value)| (*number, value))),
        }
    }

    /// Bytes on the heap, without what values own. Of an index it is an estimate.
    pub(super) fn heap_size(&self) -> usize {
        match self {
            Self::Few(values) => values.capacity() * size_of::<(u64, K)>(),
            Self::Many(indexed) => {
                let value = size_of::<(u64, K)>() / 3 * 4 + size_of::<u64>();
                let hash = size_of::<(u64, VecDeque<u64>)>() + 1;
                size_of::<Indexed<K>>() + indexed.by_number.len() * value + indexed.by_hash.capacity() * hash
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_equal_values_goes_first() {
        let mut arrivals = Arrivals::default();
        let mut model: Vec<(u64, i64)> = Vec::new();
        let mut random = 7_u64;
        for number in 0..20_000_u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = (random >> 33) as i64 % 50;
            // grows to hundreds of values, shrinks to few, and again
            let growing = number / 2_000 % 2 == 0;
            if (random >> 20).is_multiple_of(3) != growing {
                arrivals.insert(number, value);
                model.push((number, value));
            } else {
                let at = model.iter().position(|(_, other)| *other == value);
                let taken = at.map(|at| Taken { first: at == 0, last: at + 1 == model.len() });
                assert_eq!(arrivals.take_oldest(&value), taken.map(|taken| (taken, value)));
                at.map(|at| model.remove(at));
            }
            assert_eq!(arrivals.first(), model.first().map(|(_, value)| value));
            assert_eq!(arrivals.last(), model.last().map(|(_, value)| value));
        }
        assert!(arrivals.iter().eq(model.iter().map(|(number, value)| (*number, value))));
    }

    #[test]
    fn a_merged_value_finds_its_place() {
        for many in [1, 100] {
            let mut arrivals = Arrivals::default();
            for number in 0..many {
                arrivals.insert(10 + number, number as i64);
            }
            arrivals.insert(5, 0);
            assert_eq!(arrivals.first(), Some(&0));
            assert_eq!(arrivals.take_oldest(&0), Some((Taken { first: true, last: false }, 0)));
            assert_eq!(arrivals.iter().next(), Some((10, &0)));
        }
    }
}
