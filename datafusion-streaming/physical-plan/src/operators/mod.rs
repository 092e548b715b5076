//! The streaming operators, a folder each.
//!
//! | operator | what it does |
//! |---|---|
//! | [`calc`] | projection and filter |
//! | [`exchange`] | rows to the partition of their key |
//! | [`union`] | UNION ALL |
//! | [`watermark_assigner`] | watermarks from a rowtime column |
//! | [`window_tvf`] | TUMBLE, HOP, CUMULATE: rows to windows |
//! | [`expand`] | GROUPING SETS: each row once for every set |
//! | [`local_group_aggregate`] | partial aggregates before the exchange |
//! | [`session`] | SESSION: rows to sessions, and aggregation by session |
//! | [`window_rank`] | the first rows of each window |
//! | [`window_join`] | joins of rows of the same window |
//! | [`group_aggregate`] | GROUP BY with a per-record changelog |
//! | [`window_aggregate`] | GROUP BY window_start, window_end |
//! | [`deduplicate`] | the first or last row of each key by time |
//! | [`top_n`] | the first rows of each key by any order |
//! | [`limit`] | the first rows to arrive |
//! | [`sort`] | rows in the order of their rowtime |
//! | [`over`] | OVER aggregations |
//! | [`to_changelog`] | the row kind as a column |
//! | [`final_table`] | a changelog as the table that it ends with |
//! | [`source`] | DataFusion plans as insert-only sources |

pub mod aggregate;
pub mod calc;
pub mod deduplicate;
pub mod exchange;
pub mod expand;
pub mod final_table;
pub mod group_aggregate;
pub mod limit;
pub mod local_group_aggregate;
pub mod over;
mod row_changes;
pub mod session;
pub mod sort;
pub mod source;
pub mod to_changelog;
pub mod top_n;
pub mod union;
pub mod watermark_assigner;
pub mod window_aggregate;
pub mod window_join;
pub mod window_rank;
mod window_rows;
pub mod window_tvf;

#[cfg(test)]
pub(crate) mod testing;
