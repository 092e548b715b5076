//! What the aggregating operators share: the calls and their state.

mod call;
mod keyed;

pub use call::{AggregateCall, Aggregates, FoldedBatch};
pub use keyed::KeyedAggregates;
