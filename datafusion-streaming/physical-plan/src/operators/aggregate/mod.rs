//! What the aggregating operators share: the calls and their state.

mod adapted;
mod bucket;
mod bundle;
mod call;
mod distinct;
mod keyed;
mod net_changes;

#[cfg(test)]
mod tests;

pub use adapted::{AdaptedAggregate, RetractableUdaf};
pub use bucket::distinct_bucket_udf;
pub use bundle::{Bundle, Bundling};
pub use call::{AggregateCall, Aggregates, FoldedBatch, arguments_read};
pub use keyed::KeyedAggregates;
pub(crate) use net_changes::{Changed, NetChanges};
