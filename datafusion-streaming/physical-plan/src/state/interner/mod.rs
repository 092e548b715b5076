//! Keys to dense slots and back.
//!
//! | keys | kept as |
//! |---|---|
//! | none | the one slot 0 ([`KeyInterner::Global`]) |
//! | one or two columns of at most 8 bytes | words ([`fixed`]), whole numbers close together in a [`range_table`] |
//! | one string or binary column | bytes in an arena ([`bytes`]) |
//! | anything else | arrow-row bytes in an arena ([`rows`]) |
//! | any of these and a window | the slot of the key, and that of the window ([`windows`]) |

mod bytes;
mod fixed;
mod range_table;
mod rows;
mod slot_table;
mod windows;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion_common::{Result, internal_err};

use self::bytes::ByteColumnKeys;
use self::fixed::FixedKeys;
use self::rows::RowKeys;
use self::windows::WindowKeys;

/// Gives each distinct key a slot: a `u32`, dense from 0. Slots of released keys are used again,
/// the last released first.
///
/// Keys are equal as in Flink's GROUP BY: NULL equals NULL, all NaNs are one key, and 0.0 and -0.0
/// are two.
#[derive(Debug)]
pub enum KeyInterner {
    /// No key columns: every row has slot 0.
    Global,
    /// One column of up to 8 bytes.
    Fixed1(FixedKeys<1>),
    /// Two columns of up to 8 bytes each.
    Fixed2(FixedKeys<2>),
    /// One string or binary column.
    Bytes(ByteColumnKeys),
    /// Any other columns.
    Rows(RowKeys),
    /// Any columns, and the end of a window.
    Windows(WindowKeys),
}

impl KeyInterner {
    /// An interner for key columns of these types; an error for types that cannot be compared.
    pub fn try_new(types: &[DataType]) -> Result<Self> {
        Ok(match types {
            [] => KeyInterner::Global,
            [one] if fixed::is_fixed(one) => KeyInterner::Fixed1(FixedKeys::new([one.clone()])),
            [one, two] if fixed::is_fixed(one) && fixed::is_fixed(two) => {
                KeyInterner::Fixed2(FixedKeys::new([one.clone(), two.clone()]))
            }
            [one] if bytes::is_bytes(one) => KeyInterner::Bytes(ByteColumnKeys::new(one.clone())),
            types => KeyInterner::Rows(RowKeys::try_new(types)?),
        })
    }

    /// An interner for key columns of these types, and then the end of a window: a timestamp in
    /// milliseconds.
    pub fn of_windows(types: &[DataType]) -> Result<Self> {
        Ok(KeyInterner::Windows(WindowKeys::new(KeyInterner::try_new(types)?)))
    }

    /// The slots of the keys of `slots` in the window that ends at `end`, of an interner of windows.
    pub fn in_window(&mut self, slots: &[u32], end: i64) -> Result<Vec<u32>> {
        match self {
            KeyInterner::Windows(keys) => Ok(keys.in_window(slots, end)),
            _ => internal_err!("these keys are in no window"),
        }
    }

    /// Appends the slot of each row's key to `slots`; keys not seen before get new ones. New slots
    /// are given in the order in which their keys come, so that without releases the first row of
    /// a key is the one whose slot equals the number of slots before it.
    pub fn intern(&mut self, columns: &[ArrayRef], rows: usize, slots: &mut Vec<u32>) -> Result<()> {
        slots.reserve(rows);
        match self {
            KeyInterner::Global => slots.resize(slots.len() + rows, 0),
            KeyInterner::Fixed1(keys) => keys.intern(columns, slots)?,
            KeyInterner::Fixed2(keys) => keys.intern(columns, slots)?,
            KeyInterner::Bytes(keys) => keys.intern(&columns[0], slots)?,
            KeyInterner::Rows(keys) => keys.intern(columns, slots)?,
            KeyInterner::Windows(keys) => keys.intern(columns, rows, slots)?,
        }
        Ok(())
    }

    /// The number of slots in existence, in use or released: state columns are this long.
    pub fn slots(&self) -> usize {
        match self {
            KeyInterner::Global => 1,
            KeyInterner::Fixed1(keys) => keys.slots(),
            KeyInterner::Fixed2(keys) => keys.slots(),
            KeyInterner::Bytes(keys) => keys.slots(),
            KeyInterner::Rows(keys) => keys.slots(),
            KeyInterner::Windows(keys) => keys.slots(),
        }
    }

    /// Forgets the keys of these slots, each of which must be in use, and frees their memory.
    pub fn release(&mut self, slots: &[u32]) {
        match self {
            KeyInterner::Global => {}
            KeyInterner::Fixed1(keys) => keys.release(slots),
            KeyInterner::Fixed2(keys) => keys.release(slots),
            KeyInterner::Bytes(keys) => keys.release(slots),
            KeyInterner::Rows(keys) => keys.release(slots),
            KeyInterner::Windows(keys) => keys.release(slots),
        }
    }

    /// The keys of `slots`, as columns of the types given at the start.
    pub fn columns(&self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        match self {
            KeyInterner::Global => Ok(vec![]),
            KeyInterner::Fixed1(keys) => keys.columns(slots),
            KeyInterner::Fixed2(keys) => keys.columns(slots),
            KeyInterner::Bytes(keys) => Ok(vec![keys.column(slots)?]),
            KeyInterner::Rows(keys) => keys.columns(slots),
            KeyInterner::Windows(keys) => keys.columns(slots),
        }
    }

    /// The slots in use, ascending. The global slot always is.
    pub fn live_slots(&self) -> Vec<u32> {
        let free = match self {
            KeyInterner::Global => return vec![0],
            KeyInterner::Fixed1(keys) => keys.free(),
            KeyInterner::Fixed2(keys) => keys.free(),
            KeyInterner::Bytes(keys) => keys.free(),
            KeyInterner::Rows(keys) => keys.free(),
            KeyInterner::Windows(keys) => keys.free(),
        };
        let mut live = vec![true; self.slots()];
        for slot in free {
            live[*slot as usize] = false;
        }
        (0..live.len() as u32).filter(|slot| live[*slot as usize]).collect()
    }

    /// Bytes held, by capacity.
    pub fn memory_size(&self) -> usize {
        match self {
            KeyInterner::Global => 0,
            KeyInterner::Fixed1(keys) => keys.memory_size(),
            KeyInterner::Fixed2(keys) => keys.memory_size(),
            KeyInterner::Bytes(keys) => keys.memory_size(),
            KeyInterner::Rows(keys) => keys.memory_size(),
            KeyInterner::Windows(keys) => keys.memory_size(),
        }
    }
}

/// Released slots, for use again.
#[derive(Debug, Default)]
struct FreeSlots(Vec<u32>);

impl FreeSlots {
    /// A released slot, or the next new one, `slots` being the number in existence. The caller
    /// makes room for a new one.
    #[inline]
    fn take(&mut self, slots: usize) -> u32 {
        self.0.pop().unwrap_or(slots as u32)
    }
}

/// The hash of a word: a multiplication folded to 64 bits, whose upper bits hashbrown uses.
#[inline]
fn hash_word(word: u64, seed: u64) -> u64 {
    let product = u128::from(word ^ seed) * 0xf39c_c060_5ced_c835_u128;
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests;
