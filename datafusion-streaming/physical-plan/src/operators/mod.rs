//! The streaming operators, a folder each.
//!
//! | operator | what it does |
//! |---|---|
//! | [`calc`] | projection and filter |
//! | [`changelog_normalize`] | upserts and repeated changes as a proper changelog |
//! | [`upsert_materialize`] | a changelog by another key than its own |
//! | [`exchange`] | rows to the partition of their key |
//! | [`union`] | UNION ALL |
//! | [`unnest`] | UNNEST: rows with the elements of their collections |
//! | [`watermark_assigner`] | watermarks from a rowtime column |
//! | [`window_tvf`] | TUMBLE, HOP, CUMULATE: rows to windows |
//! | [`expand`] | GROUPING SETS: each row once for every set |
//! | [`local_group_aggregate`] | partial aggregates before the exchange |
//! | [`local_window_aggregate`] | the same of windows |
//! | [`session`] | SESSION: rows to sessions, and aggregation by session |
//! | [`late_rows`] | the rows that windows drop because they are late |
//! | [`window_rank`] | the first rows of each window |
//! | [`window_join`] | joins of rows of the same window |
//! | [`group_aggregate`] | GROUP BY with a per-record changelog |
//! | [`window_aggregate`] | GROUP BY window_start, window_end |
//! | [`slice_aggregate`] | the same of windows that overlap |
//! | [`deduplicate`] | the first or last row of each key by time |
//! | [`top_n`] | the first rows of each key by any order |
//! | [`limit`] | the first rows to arrive |
//! | [`sort`] | rows in the order of their rowtime |
//! | [`over`] | OVER aggregations |
//! | [`match_recognize`] | MATCH_RECOGNIZE: rows that follow each other as a pattern says |
//! | [`join`] | joins |
//! | [`to_changelog`] | the row kind as a column |
//! | [`from_changelog`] | a column with row kinds as a changelog |
//! | [`final_table`] | a changelog as the table that it ends with |
//! | [`native_sink`] | INSERT into tables of DataFusion |
//! | [`set_operation`] | INTERSECT ALL, EXCEPT ALL |
//! | [`state_ttl`] | the hint STATE_TTL, until it is planned |
//! | [`source`] | DataFusion plans as insert-only sources |

pub mod aggregate;
mod bundled;
pub mod calc;
pub mod changelog_normalize;
pub mod deduplicate;
pub mod exchange;
pub mod expand;
pub mod final_table;
pub mod from_changelog;
pub mod group_aggregate;
pub mod join;
pub mod late_rows;
pub mod limit;
pub mod local_group_aggregate;
pub mod local_window_aggregate;
pub mod match_recognize;
mod mixed_rows;
pub mod native_sink;
mod null_keys;
pub mod over;
mod padded;
mod row_changes;
pub mod session;
pub mod set_operation;
pub mod slice_aggregate;
pub mod sort;
pub mod source;
pub mod state_ttl;
pub mod to_changelog;
pub mod top_n;
pub mod union;
pub mod unnest;
pub mod upsert_materialize;
pub mod watermark_assigner;
pub mod window_aggregate;
pub mod window_join;
pub mod window_rank;
mod window_rows;
pub mod window_tvf;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod window_model;
