//! The order in which Flink looks at matches.
//!
//! Flink keeps matches in a `java.util.PriorityQueue`, by the row that they start at. Where several start
//! at the same row, that class decides which one comes first, and with it which one is found and which
//! ones are skipped. So this is a heap that puts and moves its items in the same way.

/// A heap whose items are compared by `key`, and whose order among equals is that of Java's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MatchHeap<T>(Vec<T>);

/// What items are compared by.
pub(super) trait HeapItem: Copy {
    fn key(&self) -> u64;
}

impl<T> Default for MatchHeap<T> {
    fn default() -> Self {
        MatchHeap(vec![])
    }
}

impl<T: HeapItem> MatchHeap<T> {
    /// A heap of items that are in the order of a heap.
    pub fn of(items: Vec<T>) -> Self {
        MatchHeap(items)
    }

    /// The items in the order in which they lie, the first one being the least.
    pub fn items(&self) -> &[T] {
        &self.0
    }

    pub fn first(&self) -> Option<&T> {
        self.0.first()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn push(&mut self, item: T) {
        self.0.push(item);
        let mut place = self.0.len() - 1;
        while place > 0 {
            let parent = (place - 1) / 2;
            if item.key() >= self.0[parent].key() {
                break;
            }
            self.0.swap(place, parent);
            place = parent;
        }
    }

    pub fn pop(&mut self) -> Option<T> {
        let last = self.0.pop()?;
        match self.0.first_mut() {
            None => Some(last),
            Some(first) => {
                let least = std::mem::replace(first, last);
                self.sift_down(0);
                Some(least)
            }
        }
    }

    /// Takes out the items for which `keep` is false.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        let before = self.0.len();
        self.0.retain(keep);
        if self.0.len() < before {
            for place in (0..self.0.len() / 2).rev() {
                self.sift_down(place);
            }
        }
    }

    fn sift_down(&mut self, mut place: usize) {
        let length = self.0.len();
        while place < length / 2 {
            let left = 2 * place + 1;
            let right = left + 1;
            let is_right = right < length && self.0[left].key() > self.0[right].key();
            let child = if is_right { right } else { left };
            if self.0[place].key() <= self.0[child].key() {
                break;
            }
            self.0.swap(place, child);
            place = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl HeapItem for (u64, char) {
        fn key(&self) -> u64 {
            self.0
        }
    }

    /// What `java.util.PriorityQueue` gives for the same calls.
    #[test]
    fn equals_come_in_the_order_of_javas_queue() {
        let mut heap = MatchHeap::default();
        for item in [(2, 'a'), (1, 'b'), (2, 'c'), (1, 'd'), (1, 'e'), (3, 'f')] {
            heap.push(item);
        }
        assert_eq!(heap.items(), [(1, 'b'), (1, 'd'), (2, 'c'), (2, 'a'), (1, 'e'), (3, 'f')]);
        assert_eq!(heap.pop(), Some((1, 'b')));
        assert_eq!(heap.items(), [(1, 'd'), (1, 'e'), (2, 'c'), (2, 'a'), (3, 'f')]);
        heap.retain(|item| item.1 != 'd');
        assert_eq!(heap.items(), [(1, 'e'), (2, 'c'), (2, 'a'), (3, 'f')]);
        let rest: Vec<_> = std::iter::from_fn(|| heap.pop()).map(|item| item.1).collect();
        assert_eq!(rest, ['e', 'c', 'a', 'f']);
    }
}
