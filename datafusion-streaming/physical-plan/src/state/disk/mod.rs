//! Keyed state that is not in memory.
//!
//! A [`KeyStore`] holds, for each key that an operator has let go of, the rows that its tables have of the
//! key, as their snapshots would have them ([`RowCodec`]):
//!
//! ```text
//!   key id ─────────► (table, row) (table, row) …     the rows of a key, of all tables
//!   time, key id ───►                                 when the operator must see a key again
//! ```
//!
//! It is a log-structured merge tree (the crate `lsm-tree`, on which fjall is built) in a folder of its own
//! that goes with the query. State in it need not survive the process: checkpoints are for that. So it is
//! never written row by row, but only by bulk loads of sorted keys, which become files as they are: there is
//! no journal and nothing to recover. Filters of ten bits a key tell most keys that are new from those that
//! are on disk without a read.

mod codec;
mod store;

#[cfg(test)]
mod tests;

pub use codec::{RowCodec, push_row};
pub use store::{KeyStore, StoreFolder, StoreView, StoreWriter, Timeline, expiry_of, rows_of_entry};
