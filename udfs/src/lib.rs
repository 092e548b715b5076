//! Flink's scalar and aggregate functions for DataFusion.
//!
//! - [`aggregate`]: aggregate functions whose state is typed columns indexed by group slot. One
//!   implementation serves DataFusion's batch aggregation, the streaming aggregation with
//!   retraction, and the windows.
//! - [`scalar`]: Flink's scalar functions, one a file.

pub mod aggregate;
pub mod scalar;
