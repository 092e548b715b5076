//! An ordered multiset for a group of any size.

use std::borrow::Borrow;
use std::collections::BTreeMap;

/// Up to so many different members are kept in a sorted vector, more in a tree: to move some kilobytes is
/// faster than to keep a tree in balance.
const MAX_SORTED: usize = 512;

/// A tree that has shrunk to so many different members becomes a vector again.
const MIN_TREE: usize = MAX_SORTED / 4;

/// A multiset in the order of its members. A count may be negative: a member that was taken before
/// it came. Members with a count of zero are forgotten.
#[derive(Debug, Clone)]
pub(super) enum Multiset<K> {
    /// At most one member.
    One(Option<(K, i64)>),
    /// Few members, sorted.
    Sorted(Vec<(K, i64)>),
    /// Many members.
    Tree(BTreeMap<K, i64>),
}

impl<K> Default for Multiset<K> {
    fn default() -> Self {
        Self::One(None)
    }
}

impl<K: Ord> Multiset<K> {
    /// Adds `delta` to the count of a member and returns the count before. A member that is new is
    /// made of its probe by `own`.
    pub(super) fn add<Q>(&mut self, probe: &Q, delta: i64, own: impl FnOnce(&Q) -> K) -> i64
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        match self {
            Self::One(one) => match one {
                None if delta == 0 => 0,
                None => {
                    *one = Some((own(probe), delta));
                    0
                }
                Some((member, count)) if (*member).borrow() == probe => {
                    let before = *count;
                    *count = before.wrapping_add(delta);
                    if *count == 0 {
                        *one = None;
                    }
                    before
                }
                Some(_) => {
                    *self = Self::Sorted(one.take().into_iter().collect());
                    self.add(probe, delta, own)
                }
            },
            Self::Sorted(members) => match members.binary_search_by(|(member, _)| member.borrow().cmp(probe))
            {
                Ok(at) => {
                    let before = members[at].1;
                    members[at].1 = before.wrapping_add(delta);
                    if members[at].1 == 0 {
                        members.remove(at);
                        if members.is_empty() {
                            *self = Self::One(None);
                        }
                    }
                    before
                }
                Err(at) => {
                    if delta != 0 {
                        members.insert(at, (own(probe), delta));
                        if members.len() > MAX_SORTED {
                            *self = Self::Tree(members.drain(..).collect());
                        }
                    }
                    0
                }
            },
            Self::Tree(members) => match members.get_mut(probe) {
                Some(count) => {
                    let before = *count;
                    *count = before.wrapping_add(delta);
                    if *count == 0 {
                        members.remove(probe);
                        if members.len() <= MIN_TREE {
                            *self = Self::Sorted(std::mem::take(members).into_iter().collect());
                        }
                    }
                    before
                }
                None => {
                    if delta != 0 {
                        members.insert(own(probe), delta);
                    }
                    0
                }
            },
        }
    }

    /// The least member.
    pub(super) fn first(&self) -> Option<&K> {
        match self {
            Self::One(one) => one.as_ref().map(|(member, _)| member),
            Self::Sorted(members) => members.first().map(|(member, _)| member),
            Self::Tree(members) => members.first_key_value().map(|(member, _)| member),
        }
    }

    /// The greatest member.
    pub(super) fn last(&self) -> Option<&K> {
        match self {
            Self::One(one) => one.as_ref().map(|(member, _)| member),
            Self::Sorted(members) => members.last().map(|(member, _)| member),
            Self::Tree(members) => members.last_key_value().map(|(member, _)| member),
        }
    }

    /// Members and their counts, in order.
    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = (&K, i64)> + '_> {
        match self {
            Self::One(one) => Box::new(one.iter().map(|(member, count)| (member, *count))),
            Self::Sorted(members) => Box::new(members.iter().map(|(member, count)| (member, *count))),
            Self::Tree(members) => Box::new(members.iter().map(|(member, count)| (member, *count))),
        }
    }

    /// Bytes on the heap, without what members own. The tree's are an estimate: its nodes are taken
    /// for three quarters full.
    pub(super) fn heap_size(&self) -> usize {
        match self {
            Self::One(_) => 0,
            Self::Sorted(members) => members.capacity() * size_of::<(K, i64)>(),
            Self::Tree(members) => members.len() * size_of::<(K, i64)>() / 3 * 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(set: &mut Multiset<i64>, member: i64, delta: i64) -> i64 {
        set.add(&member, delta, |member| *member)
    }

    #[test]
    fn is_a_multiset_of_any_size() {
        let mut set = Multiset::default();
        let mut model = BTreeMap::new();
        let mut random = 1_u64;
        for step in 0..20_000_u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // grows to a tree, shrinks to few, and again
            let range = if step / 2_000 % 2 == 0 { 4_000 } else { 3 };
            let member = (random >> 33) as i64 % range;
            let delta = if (random >> 20).is_multiple_of(3) { 1 } else { -1 };
            let delta = if step / 1_000 % 2 == 0 { delta } else { -model.get(&member).copied().unwrap_or(1) };
            let before = model.get(&member).copied().unwrap_or(0);
            assert_eq!(add(&mut set, member, delta), before);
            model.insert(member, before + delta);
            model.retain(|_, count| *count != 0);
            assert_eq!(set.first(), model.keys().next());
            assert_eq!(set.last(), model.keys().next_back());
        }
        assert!(set.iter().eq(model.iter().map(|(member, count)| (member, *count))));
    }

    #[test]
    fn small_sets_are_small() {
        assert!(size_of::<Multiset<i64>>() <= 32);
        let mut set = Multiset::default();
        add(&mut set, 7, 1);
        assert_eq!(set.heap_size(), 0);
        for member in 0..2_000 {
            add(&mut set, member, 1);
        }
        assert!(matches!(set, Multiset::Tree(_)));
        for member in 0..1_999 {
            add(&mut set, member, if member == 7 { -2 } else { -1 });
        }
        assert!(matches!(set, Multiset::Sorted(_)));
        assert!(set.heap_size() <= MAX_SORTED * 16);
    }
}
