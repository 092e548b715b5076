//! What the aggregating operators share: the calls and their state.

mod bundle;
mod call;
mod distinct;
mod keyed;

pub use bundle::{Bundle, Bundling};
pub use call::{AggregateCall, Aggregates, FoldedBatch};
pub use keyed::KeyedAggregates;
