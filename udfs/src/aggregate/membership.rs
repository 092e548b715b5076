//! The members of one group, each with a tally.

use std::borrow::Borrow;
use std::fmt::Debug;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Up to so many members are searched one by one.
const MAX_SEARCHED: usize = 16;

/// A table that has shrunk to so many members becomes a vector again.
const MIN_TABLE: usize = MAX_SEARCHED / 4;

/// What a change of a count did to membership.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    before: i64,
    after: i64,
}

impl Change {
    /// 1: the value has become a member; -1: it is one no longer; 0: nothing.
    #[inline(always)]
    pub(super) fn direction(self) -> i8 {
        i8::from(self.after > 0) - i8::from(self.before > 0)
    }

    #[inline(always)]
    pub(super) fn changed(self) -> bool {
        self.direction() != 0
    }
}

/// How often a value has come, for each of some filters.
pub(super) trait Tally: Debug + Send + Sync + 'static {
    /// Whether a tally knows its number.
    const NUMBERED: bool = false;

    /// A tally that has counted nothing. `number` goes up from value to value.
    fn new(filters: usize, number: u64) -> Self;

    /// The number that the tally was made with, 0 if it does not know.
    fn number(&self) -> u64 {
        0
    }

    /// Adds `delta` to the count of a filter. `fresh`: the value has not been kept so far.
    fn count(&mut self, filter: usize, delta: i64, fresh: bool) -> Change;

    fn get(&self, filter: usize) -> i64;

    /// Whether all counts are zero.
    fn is_empty(&self) -> bool;

    /// The bytes a tally owns.
    fn heap_size(_: usize) -> usize {
        0
    }
}

/// A single filter of rows that are not retracted: what is kept has come.
#[derive(Debug)]
pub(super) struct Seen;

impl Tally for Seen {
    fn new(_: usize, _: u64) -> Self {
        Self
    }

    #[inline(always)]
    fn count(&mut self, _: usize, _: i64, fresh: bool) -> Change {
        Change { before: i64::from(!fresh), after: 1 }
    }

    fn get(&self, _: usize) -> i64 {
        1
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        false
    }
}

/// A single filter.
impl Tally for i64 {
    fn new(_: usize, _: u64) -> Self {
        0
    }

    #[inline(always)]
    fn count(&mut self, _: usize, delta: i64, _: bool) -> Change {
        let before = *self;
        *self = before.wrapping_add(delta);
        Change { before, after: *self }
    }

    fn get(&self, _: usize) -> i64 {
        *self
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        *self == 0
    }
}

/// Up to 64 filters of rows that are not retracted, a bit each.
impl Tally for u64 {
    fn new(_: usize, _: u64) -> Self {
        0
    }

    #[inline(always)]
    fn count(&mut self, filter: usize, delta: i64, _: bool) -> Change {
        let before = self.get(filter);
        *self |= u64::from(delta > 0) << filter;
        Change { before, after: self.get(filter) }
    }

    #[inline(always)]
    fn get(&self, filter: usize) -> i64 {
        (*self >> filter & 1) as i64
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        *self == 0
    }
}

/// Any number of filters.
#[derive(Debug)]
pub(super) struct Tallies(Box<[i64]>);

impl Tally for Tallies {
    fn new(filters: usize, _: u64) -> Self {
        Self(vec![0; filters].into())
    }

    #[inline(always)]
    fn count(&mut self, filter: usize, delta: i64, fresh: bool) -> Change {
        self.0[filter].count(0, delta, fresh)
    }

    fn get(&self, filter: usize) -> i64 {
        self.0[filter]
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|count| *count == 0)
    }

    fn heap_size(filters: usize) -> usize {
        filters * size_of::<i64>()
    }
}

/// A tally that knows its number, and so in which order values came.
#[derive(Debug)]
pub(super) struct Numbered<T> {
    number: u64,
    tally: T,
}

impl<T: Tally> Tally for Numbered<T> {
    const NUMBERED: bool = true;

    fn new(filters: usize, number: u64) -> Self {
        Self { number, tally: T::new(filters, number) }
    }

    fn number(&self) -> u64 {
        self.number
    }

    #[inline(always)]
    fn count(&mut self, filter: usize, delta: i64, fresh: bool) -> Change {
        self.tally.count(filter, delta, fresh)
    }

    fn get(&self, filter: usize) -> i64 {
        self.tally.get(filter)
    }

    fn is_empty(&self) -> bool {
        self.tally.is_empty()
    }

    fn heap_size(filters: usize) -> usize {
        T::heap_size(filters)
    }
}

/// Members with their tallies, few in a vector, many in a hash table.
#[derive(Debug)]
pub(super) enum SlotMembers<K, T> {
    Few(Vec<(K, T)>),
    Many(HashTable<(K, T)>),
}

/// What an update did to the collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// The value is in it for the first time.
    New,
    /// The value is in it no longer.
    Forgotten,
    /// As before, and so is the memory.
    Same,
}

impl<K, T> Default for SlotMembers<K, T> {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl<K, T: Tally> SlotMembers<K, T> {
    /// Changes the tally of a value, which is made by `new` if it is not there (`change` is told so), and
    /// forgets the value if the tally is empty then.
    #[inline]
    pub(super) fn update<Q, R>(
        &mut self,
        probe: &Q,
        hash: impl Fn() -> u64,
        hash_of: impl Fn(&K) -> u64,
        new: impl FnOnce() -> (K, T),
        change: impl FnOnce(&mut T, bool) -> R,
    ) -> (R, Kept)
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        match self {
            Self::Few(members) => match members.iter().position(|(key, _)| key.borrow() == probe) {
                Some(at) => {
                    let tally = &mut members[at].1;
                    let result = change(tally, false);
                    if !tally.is_empty() {
                        return (result, Kept::Same);
                    }
                    members.swap_remove(at);
                    if members.is_empty() {
                        *members = Vec::new();
                    }
                    (result, Kept::Forgotten)
                }
                None => {
                    let (key, mut tally) = new();
                    let result = change(&mut tally, true);
                    if tally.is_empty() {
                        return (result, Kept::Same);
                    }
                    members.push((key, tally));
                    if members.len() > MAX_SEARCHED {
                        let mut table = HashTable::with_capacity(2 * MAX_SEARCHED);
                        for member in members.drain(..) {
                            table.insert_unique(hash_of(&member.0), member, |(key, _)| hash_of(key));
                        }
                        *self = Self::Many(table);
                    }
                    (result, Kept::New)
                }
            },
            Self::Many(members) => {
                let entry = members.entry(hash(), |(key, _)| key.borrow() == probe, |(key, _)| hash_of(key));
                match entry {
                    Entry::Occupied(mut member) => {
                        let tally = &mut member.get_mut().1;
                        let result = change(tally, false);
                        if !tally.is_empty() {
                            return (result, Kept::Same);
                        }
                        member.remove();
                        if members.len() <= MIN_TABLE {
                            *self = Self::Few(std::mem::take(members).into_iter().collect());
                        }
                        (result, Kept::Forgotten)
                    }
                    Entry::Vacant(place) => {
                        let (key, mut tally) = new();
                        let result = change(&mut tally, true);
                        if tally.is_empty() {
                            return (result, Kept::Same);
                        }
                        place.insert((key, tally));
                        (result, Kept::New)
                    }
                }
            }
        }
    }

    /// Whether a value is kept.
    #[inline]
    pub(super) fn contains<Q>(&self, probe: &Q, hash: impl Fn() -> u64) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        match self {
            Self::Few(members) => members.iter().any(|(key, _)| key.borrow() == probe),
            Self::Many(members) => members.find(hash(), |(key, _)| key.borrow() == probe).is_some(),
        }
    }

    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = (&K, &T)> + '_> {
        match self {
            Self::Few(members) => Box::new(members.iter().map(|(key, tally)| (key, tally))),
            Self::Many(members) => Box::new(members.iter().map(|(key, tally)| (key, tally))),
        }
    }

    /// Bytes on the heap, without what members own.
    pub(super) fn heap_size(&self) -> usize {
        match self {
            Self::Few(members) => members.capacity() * size_of::<(K, T)>(),
            Self::Many(members) => members.allocation_size(),
        }
    }
}
