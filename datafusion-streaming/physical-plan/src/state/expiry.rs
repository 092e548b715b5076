//! The time to live of state that is indexed by slot.

/// When each slot was written last, and whether that is too long ago.
///
/// As in Flink, state is expired once `written + ttl <= now`, and then reads as absent.
#[derive(Debug)]
pub struct Expiry {
    ttl: i64,
    written: Vec<i64>,
    next_sweep: Option<i64>,
}

impl Expiry {
    /// State that lives for `ttl` milliseconds of processing time; 0: for ever.
    pub fn new(ttl: i64) -> Self {
        Expiry { ttl, written: vec![], next_sweep: None }
    }

    /// Whether state expires at all.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.ttl > 0
    }

    /// Makes room for slots.
    pub fn grow(&mut self, slots: usize) {
        if self.is_on() {
            self.written.resize(slots, i64::MAX);
        }
    }

    /// A slot is written; `i64::MAX`, which a snapshot has for a slot that never was, changes nothing.
    #[inline]
    pub fn touch(&mut self, slot: u32, now: i64) {
        if self.is_on() && now < i64::MAX {
            self.written[slot as usize] = now;
            self.next_sweep.get_or_insert(now.saturating_add(self.ttl));
        }
    }

    /// Whether what a slot holds has expired.
    #[inline]
    pub fn is_expired(&self, slot: u32, now: i64) -> bool {
        self.is_on() && self.written[slot as usize].saturating_add(self.ttl) <= now
    }

    /// A slot holds nothing any more.
    #[inline]
    pub fn forget(&mut self, slot: u32) {
        if self.is_on() {
            self.written[slot as usize] = i64::MAX;
        }
    }

    /// When state that nobody asks for is to be looked through.
    pub fn next_sweep(&self) -> Option<i64> {
        self.next_sweep
    }

    /// The slots that have expired; the next sweep is one time to live away.
    pub fn sweep(&mut self, now: i64) -> Vec<u32> {
        let expired: Vec<u32> =
            (0..self.written.len() as u32).filter(|slot| self.is_expired(*slot, now)).collect();
        for slot in &expired {
            self.written[*slot as usize] = i64::MAX;
        }
        let is_empty = self.written.iter().all(|written| *written == i64::MAX);
        self.next_sweep = (!is_empty).then(|| now.saturating_add(self.ttl));
        expired
    }

    /// The time of the last write to a slot, for snapshots.
    pub fn written(&self, slot: u32) -> i64 {
        self.written.get(slot as usize).copied().unwrap_or(i64::MAX)
    }

    /// Bytes held, by capacity.
    pub fn memory_size(&self) -> usize {
        self.written.capacity() * size_of::<i64>()
    }
}
