//! Aggregate functions with typed state, indexed by group slot.
//!
//! A streaming aggregation numbers its groups with dense `u32` *slots*. An [`AggregateState`] is
//! the state of one aggregate call for **all** groups: columns (`Vec<i64>` sums, validity, …)
//! indexed by slot. It folds whole batches in typed loops, so that there is no object, no
//! `ScalarValue` and no allocation per group or row.
//!
//! ```text
//!   batch:  slots [3, 0, 3]   v [5, 1, 2]           sums (by slot): [10, 0, 0, 7]
//!
//!   fold, row by row:   before  7, 10, 12           sums afterwards: [11, 0, 0, 14]
//!                       after  12, 11, 14
//! ```
//!
//! [`AggregateState::fold`] returns the *before* and *after* values as one array, from which the
//! group aggregation makes Flink's per-record changelog without touching a row again.

mod accumulator;
mod arithmetic;
mod array_agg;
mod arrivals;
mod avg;
mod cells;
mod collect;
mod column;
mod count;
mod distinct;
mod entries;
mod extremes;
mod first_last;
mod frame_extremes;
mod java_hash;
mod json_agg;
mod list_agg;
mod lists;
mod mean;
mod members;
mod membership;
mod min_max;
mod multiset;
mod nested;
mod percentile;
mod registry;
mod signature;
mod single_value;
mod state;
mod statistics;
mod string_extreme;
mod sum;
mod sum0;
mod text;
mod udf;

#[cfg(test)]
mod tests;

pub use array_agg::ArrayAgg;
pub use avg::Avg;
pub use collect::Collect;
pub use count::Count;
pub use distinct::{DistinctMembership, DistinctRows, MergedMembers};
pub use first_last::{FirstValue, LastValue};
pub use json_agg::{JsonArrayAgg, JsonObjectAgg, OnNull};
pub use list_agg::ListAgg;
pub use mean::mean_of_parts_udf;
pub use min_max::{Max, Min};
pub use percentile::Percentile;
pub use registry::{flink_aggregates, streaming_aggregate_of};
pub use single_value::SingleValue;
pub use state::{
    AggregateArgs, AggregateKind, AggregateState, Fate, Fold, OutputLayout, Rows, StreamingAggregate,
};
pub use statistics::Statistic;
pub use sum::Sum;
pub use sum0::Sum0;
pub use udf::FlinkAggregateUdf;
