//! Keyed state: columns indexed by slot.
//!
//! - [`KeyInterner`]: keys to dense `u32` slots and back;
//! - [`RowArena`]: rows with ids, for operators that keep rows; [`RowIndex`] finds them by content;
//! - [`StateTable`]: the driver's view of any state: memory, snapshot, restore;
//! - [`key_group`]: which subtask a key belongs to.

mod interner;
pub mod key_group;
mod rows;
mod table;

pub use interner::KeyInterner;
pub use rows::{EncodedRows, RowArena, RowIndex};
pub use table::{StateTable, ValueTable};
