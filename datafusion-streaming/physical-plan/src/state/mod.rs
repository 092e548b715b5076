//! Keyed state: columns indexed by slot.
//!
//! - [`KeyInterner`]: keys to dense `u32` slots and back;
//! - [`RowBuffer`]: whole rows, kept until they are released;
//! - [`RowArena`]: rows with ids, for operators that keep rows; [`RowIndex`] finds them by content;
//! - [`RowLists`]: rows in lists by key;
//! - [`StateTable`]: the driver's view of any state: memory, snapshot, restore;
//! - [`disk`]: state that is not in memory;
//! - [`TouchedSlots`]: which slots have been written;
//! - [`LastRows`]: one row a key;
//! - [`RowStore`]: rows that are kept, by reference to the batches that they came in;
//! - [`SortKeys`]: sort columns as keys that compare in one step;
//! - [`TimeQueue`]: what waits for the watermark;
//! - [`key_group`]: which subtask a key belongs to.

pub mod disk;
mod expiry;
mod interner;
pub mod key_group;
mod keyed_rows;
mod last_rows;
mod row_buffer;
mod row_equality;
mod row_lists;
mod row_store;
mod rows;
mod sort_key;
mod table;
mod time_queue;
mod touched;

pub use expiry::Expiry;
pub use interner::KeyInterner;
pub use keyed_rows::{Extra, keyed_snapshot, split_extra};
pub use last_rows::LastRows;
pub use row_buffer::{RowBuffer, RowRef};
pub use row_equality::equal_values;
pub use row_lists::RowLists;
pub use row_store::{Place, RowId, RowStore, shown_bytes};
pub use rows::{EncodedRows, RowArena, RowIndex};
pub use sort_key::{InlineKey, LongKey, SortKey, SortKeys, is_inline};
pub use table::{Due, Evictable, StateTable, ValueTable};
pub use time_queue::TimeQueue;
pub use touched::{TouchedSlots, distinct_where};
