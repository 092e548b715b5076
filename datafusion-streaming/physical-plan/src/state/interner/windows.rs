//! Keys by window.

use std::sync::Arc;

use ahash::RandomState;
use arrow::array::{ArrayRef, AsArray, TimestampMillisecondArray};
use arrow::datatypes::TimestampMillisecondType;
use datafusion_common::{Result, internal_err};
use hashbrown::HashMap;

use super::{FreeSlots, KeyInterner};

/// Keys of which the last column is the end of a window, as a timestamp in milliseconds.
///
/// ```text
///   (key, end) ──► keys: the slot of the key ──► the window's map: that slot ──► the slot of (key, end)
/// ```
///
/// A key is in many windows at a time, and windows follow each other: a key is thus hashed once, however
/// many windows it is in, and not at all where the slot of one window is asked for that of another
/// ([`WindowKeys::in_window`]).
#[derive(Debug)]
pub struct WindowKeys {
    keys: Box<KeyInterner>,
    /// By the slot of the key: in how many windows it is; [`FREE`] where the slot has no key.
    windows_of: Vec<u32>,
    /// Keys, and those of them that are in no window. They stay until there are many: most come again in
    /// the next window.
    known: usize,
    unused: usize,
    windows: Vec<Window>,
    by_end: HashMap<i64, u32, RandomState>,
    recent: RecentWindows,
    free_windows: Vec<u32>,
    /// By slot.
    places: Vec<Place>,
    free: FreeSlots,
}

const FREE: u32 = u32::MAX;

/// So many keys may be in no window before they are looked for.
const MIN_UNUSED: usize = 1024;

/// Where a slot belongs: the slot of its key, and the number of its window.
#[derive(Debug, Clone, Copy)]
struct Place {
    key: u32,
    window: u32,
}

#[derive(Debug)]
struct Window {
    end: i64,
    slots: SlotMap,
}

impl WindowKeys {
    /// By keys that `keys` takes.
    pub(super) fn new(keys: KeyInterner) -> Self {
        WindowKeys {
            keys: Box::new(keys),
            windows_of: vec![],
            known: 0,
            unused: 0,
            windows: vec![],
            by_end: HashMap::default(),
            recent: RecentWindows::default(),
            free_windows: vec![],
            places: vec![],
            free: FreeSlots::default(),
        }
    }

    pub(super) fn slots(&self) -> usize {
        self.places.len()
    }

    pub(super) fn free(&self) -> &[u32] {
        &self.free.0
    }

    pub(super) fn memory_size(&self) -> usize {
        self.keys.memory_size()
            + (self.windows_of.capacity() + self.free_windows.capacity() + self.free.0.capacity())
                * size_of::<u32>()
            + self.places.capacity() * size_of::<Place>()
            + self.by_end.allocation_size()
            + self.windows.capacity() * size_of::<Window>()
            + self.windows.iter().map(|window| window.slots.memory_size()).sum::<usize>()
    }

    pub(super) fn intern(&mut self, columns: &[ArrayRef], rows: usize, slots: &mut Vec<u32>) -> Result<()> {
        let Some((ends, columns)) = columns.split_last() else {
            return internal_err!("keys of windows came without their ends");
        };
        let Some(ends) = ends.as_primitive_opt::<TimestampMillisecondType>() else {
            return internal_err!("the ends of windows came as {}", ends.data_type());
        };
        let mut keys = vec![];
        self.keys.intern(columns, rows, &mut keys)?;
        self.windows_of.resize(self.keys.slots(), FREE);
        for (key, end) in keys.into_iter().zip(ends.values()) {
            let window = match self.recent.get(*end) {
                Some(window) => window,
                None => self.window(*end),
            };
            slots.push(self.slot(key, window));
        }
        Ok(())
    }

    /// The slots of the keys of `slots` in the window that ends at `end`.
    pub(super) fn in_window(&mut self, slots: &[u32], end: i64) -> Vec<u32> {
        if slots.is_empty() {
            return vec![];
        }
        let window = self.window(end);
        slots.iter().map(|slot| self.slot(self.places[*slot as usize].key, window)).collect()
    }

    /// The number of a window.
    fn window(&mut self, end: i64) -> u32 {
        if let Some(window) = self.by_end.get(&end) {
            self.recent.put(end, *window);
            return *window;
        }
        let opened = Window { end, slots: SlotMap::default() };
        let window = match self.free_windows.pop() {
            Some(window) => {
                self.windows[window as usize] = opened;
                window
            }
            None => {
                self.windows.push(opened);
                self.windows.len() as u32 - 1
            }
        };
        self.by_end.insert(end, window);
        self.recent.put(end, window);
        window
    }

    /// The slot of a key in a window.
    #[inline]
    fn slot(&mut self, key: u32, window: u32) -> u32 {
        if let Some(slot) = self.windows[window as usize].slots.get(key) {
            return slot;
        }
        let slot = self.free.take(self.places.len());
        let place = Place { key, window };
        match self.places.get_mut(slot as usize) {
            Some(known) => *known = place,
            None => self.places.push(place),
        }
        self.windows[window as usize].slots.insert(key, slot);
        let windows = &mut self.windows_of[key as usize];
        match *windows {
            FREE => (*windows, self.known) = (1, self.known + 1),
            0 => (*windows, self.unused) = (1, self.unused - 1),
            _ => *windows += 1,
        }
        slot
    }

    pub(super) fn release(&mut self, slots: &[u32]) {
        for slot in slots {
            let Place { key, window } = self.places[*slot as usize];
            let of_window = &mut self.windows[window as usize];
            if !of_window.slots.remove(key) {
                continue;
            }
            if of_window.slots.len == 0 {
                self.by_end.remove(&of_window.end);
                self.recent.forget(of_window.end);
                of_window.slots = SlotMap::default();
                self.free_windows.push(window);
            }
            let windows = &mut self.windows_of[key as usize];
            *windows -= 1;
            self.unused += usize::from(*windows == 0);
            self.free.0.push(*slot);
        }
        if self.unused > MIN_UNUSED.max(self.known / 2) {
            self.release_unused();
        }
    }

    /// Forgets the keys that are in no window.
    fn release_unused(&mut self) {
        let keys = 0..self.windows_of.len() as u32;
        let unused: Vec<u32> = keys.filter(|key| self.windows_of[*key as usize] == 0).collect();
        unused.iter().for_each(|key| self.windows_of[*key as usize] = FREE);
        self.known -= unused.len();
        self.unused = 0;
        self.keys.release(&unused);
    }

    pub(super) fn columns(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        let places = || slots.iter().map(|slot| self.places[*slot as usize]);
        let mut columns = self.keys.columns(&places().map(|place| place.key).collect::<Vec<_>>())?;
        let ends = places().map(|place| self.windows[place.window as usize].end);
        columns.push(Arc::new(TimestampMillisecondArray::from_iter_values(ends)));
        Ok(columns)
    }
}

/// Windows that were asked for lately: rows of few windows come together, but not those of one.
#[derive(Debug)]
struct RecentWindows(Box<[(i64, u32); RECENT]>);

const RECENT: usize = 64;

impl Default for RecentWindows {
    fn default() -> Self {
        RecentWindows(Box::new([(0, NONE); RECENT]))
    }
}

impl RecentWindows {
    /// Ends are multiples of something: a multiplication spreads them.
    #[inline]
    fn place(end: i64) -> usize {
        ((end as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - RECENT.ilog2())) as usize
    }

    #[inline]
    fn get(&self, end: i64) -> Option<u32> {
        let (known, window) = self.0[Self::place(end)];
        (known == end && window != NONE).then_some(window)
    }

    fn put(&mut self, end: i64, window: u32) {
        self.0[Self::place(end)] = (end, window);
    }

    fn forget(&mut self, end: i64) {
        let recent = &mut self.0[Self::place(end)];
        if recent.0 == end {
            recent.1 = NONE;
        }
    }
}

const PAGE: usize = 256;

/// No slot.
const NONE: u32 = u32::MAX;

/// A map from slots to slots, in pages that are there where there are any.
#[derive(Debug, Default)]
struct SlotMap {
    pages: Vec<Option<Box<[u32; PAGE]>>>,
    len: usize,
}

impl SlotMap {
    #[inline]
    fn get(&self, key: u32) -> Option<u32> {
        let page = self.pages.get(key as usize / PAGE)?.as_ref()?;
        Some(page[key as usize % PAGE]).filter(|slot| *slot != NONE)
    }

    /// Adds a slot, which must not be there.
    fn insert(&mut self, key: u32, slot: u32) {
        let number = key as usize / PAGE;
        if number >= self.pages.len() {
            self.pages.resize(number + 1, None);
        }
        self.pages[number].get_or_insert_with(|| Box::new([NONE; PAGE]))[key as usize % PAGE] = slot;
        self.len += 1;
    }

    /// Removes a slot; whether it was there.
    fn remove(&mut self, key: u32) -> bool {
        let Some(Some(page)) = self.pages.get_mut(key as usize / PAGE) else { return false };
        let was_there = std::mem::replace(&mut page[key as usize % PAGE], NONE) != NONE;
        self.len -= usize::from(was_there);
        was_there
    }

    /// Bytes held.
    fn memory_size(&self) -> usize {
        self.pages.capacity() * size_of::<Option<Box<[u32; PAGE]>>>()
            + self.pages.iter().flatten().count() * size_of::<[u32; PAGE]>()
    }
}
