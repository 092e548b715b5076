//! Which slots have been written.

/// Slots in the order in which they were first touched.
#[derive(Debug, Default)]
pub struct TouchedSlots {
    order: Vec<u32>,
    /// By slot.
    is_touched: Vec<bool>,
}

impl TouchedSlots {
    /// Marks slots and returns those that were not marked before, each once, in order.
    pub fn touch(&mut self, slots: &[u32]) -> &[u32] {
        let known = self.order.len();
        for slot in slots {
            let place = *slot as usize;
            if place >= self.is_touched.len() {
                self.is_touched.resize(place + 1, false);
            }
            if !std::mem::replace(&mut self.is_touched[place], true) {
                self.order.push(*slot);
            }
        }
        &self.order[known..]
    }

    /// Whether a slot is marked.
    pub fn contains(&self, slot: u32) -> bool {
        self.is_touched.get(slot as usize).copied().unwrap_or_default()
    }

    /// The marked slots, which are marked no longer.
    pub fn take(&mut self) -> Vec<u32> {
        let touched = std::mem::take(&mut self.order);
        for slot in &touched {
            self.is_touched[*slot as usize] = false;
        }
        touched
    }
}

/// Those of `slots` for which `is_wanted`, ascending and each once. Of the rows of a batch few keys have
/// become empty, say: they are picked first and sorted then.
pub fn distinct_where(slots: impl IntoIterator<Item = u32>, is_wanted: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut wanted: Vec<u32> = slots.into_iter().filter(|slot| is_wanted(*slot)).collect();
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}
