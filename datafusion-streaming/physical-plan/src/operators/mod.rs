//! The streaming operators, a folder each.
//!
//! | operator | what it does |
//! |---|---|
//! | [`calc`] | projection and filter |
//! | [`changelog_normalize`] | upserts and repeated changes as a proper changelog |
//! | [`exchange`] | rows to the partition of their key |
//! | [`union`] | UNION ALL |
//! | [`unnest`] | UNNEST: rows with the elements of their collections |
//! | [`watermark_assigner`] | watermarks from a rowtime column |
//! | [`window_tvf`] | TUMBLE, HOP, CUMULATE: rows to windows |
//! | [`group_aggregate`] | GROUP BY with a per-record changelog |
//! | [`window_aggregate`] | GROUP BY window_start, window_end |
//! | [`join`] | joins |
//! | [`to_changelog`] | the row kind as a column |
//! | [`from_changelog`] | a column with row kinds as a changelog |
//! | [`final_table`] | a changelog as the table that it ends with |
//! | [`set_operation`] | INTERSECT ALL, EXCEPT ALL |
//! | [`source`] | DataFusion plans as insert-only sources |

pub mod aggregate;
pub mod calc;
pub mod changelog_normalize;
pub mod exchange;
pub mod final_table;
pub mod from_changelog;
pub mod group_aggregate;
pub mod join;
pub mod set_operation;
pub mod source;
pub mod to_changelog;
pub mod union;
pub mod unnest;
pub mod watermark_assigner;
pub mod window_aggregate;
pub mod window_tvf;

#[cfg(test)]
pub(crate) mod testing;
