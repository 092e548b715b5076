//! Keyed state: columns indexed by slot.
//!
//! - [`KeyInterner`]: keys to dense `u32` slots and back;
//! - [`RowBuffer`]: whole rows, kept until they are released;
//! - [`StateTable`]: the driver's view of any state: memory, snapshot, restore;
//! - [`TouchedSlots`]: which slots have been written;
//! - [`key_group`]: which subtask a key belongs to.

mod interner;
pub mod key_group;
mod row_buffer;
mod table;
mod touched;

pub use interner::KeyInterner;
pub use row_buffer::{RowBuffer, RowRef};
pub use table::{StateTable, ValueTable};
pub use touched::TouchedSlots;
