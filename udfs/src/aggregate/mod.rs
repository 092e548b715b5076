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

mod state;

pub use state::{AggregateArgs, AggregateState, Fate, Fold, OutputLayout, Rows, StreamingAggregate};
