//! What waits for the watermark, in the order of its times.

use std::collections::VecDeque;

/// Items with event times, which come out in the order of their times; items of the same time in
/// the order in which they came.
///
/// Items mostly come almost in order: they are collected as they come and sorted into place when
/// the watermark asks for them.
#[derive(Debug, Clone)]
pub struct TimeQueue<T> {
    sorted: VecDeque<(i64, T)>,
    arrived: Vec<(i64, T)>,
    /// The least time of `arrived`.
    first_arrived: i64,
}

impl<T: Copy> TimeQueue<T> {
    /// An empty queue.
    pub fn new() -> Self {
        TimeQueue { sorted: VecDeque::new(), arrived: vec![], first_arrived: i64::MAX }
    }

    /// Adds an item.
    #[inline]
    pub fn push(&mut self, time: i64, item: T) {
        self.first_arrived = self.first_arrived.min(time);
        self.arrived.push((time, item));
    }

    /// Takes out the items up to and including a time.
    pub fn pop_until(&mut self, time: i64) -> impl Iterator<Item = (i64, T)> + '_ {
        if self.first_arrived <= time {
            self.settle();
        }
        let due = self.sorted.partition_point(|(due, _)| *due <= time);
        self.sorted.drain(..due)
    }

    /// All items, those of the same time in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = &(i64, T)> {
        self.sorted.iter().chain(&self.arrived)
    }

    /// Bytes held, by capacity.
    pub fn memory_size(&self) -> usize {
        (self.sorted.capacity() + self.arrived.capacity()) * size_of::<(i64, T)>()
    }

    /// Sorts what has arrived into place.
    fn settle(&mut self) {
        self.arrived.sort_by_key(|(time, _)| *time);
        self.first_arrived = i64::MAX;
        let is_behind = |(time, _): &(i64, T)| self.sorted.back().is_none_or(|(last, _)| last <= time);
        if self.arrived.first().is_none_or(is_behind) {
            self.sorted.extend(self.arrived.drain(..));
            return;
        }
        if self.arrived.len() <= 16 {
            for (time, item) in self.arrived.drain(..) {
                let place = self.sorted.partition_point(|(other, _)| *other <= time);
                self.sorted.insert(place, (time, item));
            }
            return;
        }
        let older = std::mem::take(&mut self.sorted);
        self.sorted.reserve(older.len() + self.arrived.len());
        let mut newer = self.arrived.drain(..).peekable();
        for (time, item) in older {
            while let Some(next) = newer.next_if(|(other, _)| *other < time) {
                self.sorted.push_back(next);
            }
            self.sorted.push_back((time, item));
        }
        self.sorted.extend(newer);
    }
}

impl<T: Copy> Default for TimeQueue<T> {
    fn default() -> Self {
        TimeQueue::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_out_by_time_and_arrival() {
        let mut queue = TimeQueue::new();
        let mut expected = vec![];
        let mut popped = vec![];
        let mut time = 7i64;
        for item in 0..5_000 {
            time = (time * 48_271) % 2_147_483_647;
            let at = item / 4 + time % 50;
            queue.push(at, item);
            expected.push((at, item));
            if item % 37 == 0 {
                popped.extend(queue.pop_until(item / 4));
            }
        }
        popped.extend(queue.pop_until(i64::MAX));
        expected.sort_by_key(|(at, _)| *at);
        assert_eq!(popped, expected);
        assert_eq!(queue.iter().count(), 0);
    }
}
