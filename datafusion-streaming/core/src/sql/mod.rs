//! The text side of Flink SQL: from a script to statements that DataFusion's planner understands.
//!
//! ```text
//! script ── tokens ── parser + dialect ── rewrite ──> Vec<ParsedStatement>
//! ```
//!
//! [`parse`] does all of it. Flink's DDL and session statements become [`Statement`]s of their own; queries and
//! INSERTs stay sqlparser's AST, in which what Flink means differently has been spelled out for DataFusion
//! ([`rewrite`]). To plan them, the session needs these settings:
//!
//! | setting | value | why |
//! |---|---|---|
//! | `sql_parser.enable_ident_normalization` | `false` | names are case-sensitive |
//! | `sql_parser.parse_float_as_decimal` | `true` | `1.5` is a DECIMAL |
//! | `sql_parser.default_null_ordering` | `nulls_min` | NULL is the smallest value |
//! | `sql_parser.map_string_types_to_utf8view` | `false` | strings are `Utf8` |
//! | `sql_parser.enable_subquery_sort_elimination` | `false` | a rewritten query may sort in a subquery |
//! | type planner | [`FlinkTypePlanner`] | types are Flink's |
//! | expression planner | that of `flink_types` | operators have Flink's types, IS DISTINCT FROM is one |
//!
//! What has a syntax of its own becomes a call of a function that the session must have. Functions under Flink's
//! names are looked up in lower case, as always in DataFusion; these are added:
//!
//! | function | for |
//! |---|---|
//! | `flink_floor(x, 'DAY')`, `flink_ceil(x, 'DAY')` | `FLOOR(x TO DAY)`, `CEIL(x TO DAY)` |
//! | `flink_timestampdiff('DAY', a, b)`, `flink_timestampadd('DAY', n, t)` | `TIMESTAMPDIFF`, `TIMESTAMPADD` |
//! | `flink_interval(n, 'DAY')` | `INTERVAL n DAY` where `n` is no literal |
//! | `flink_minus(a, b, 'DAY')` | `(a - b) DAY` |
//! | `flink_overlaps(a, b, c, d)` | `(a, b) OVERLAPS (c, d)` |
//! | `flink_window_start(tumble(ts, size))`, `…_end`, `…_rowtime`, `…_proctime` | `TUMBLE_START(ts, size)` and so on for `HOP` and `SESSION`, with `GROUP BY TUMBLE(ts, size)` |
//! | `row(a, b)` | `(a, b)` |
//! | `locate`, `substring`, `overlay`, `trim`, `btrim`, `ltrim`, `rtrim`, `make_map` | `POSITION`, `SUBSTRING`, `OVERLAY`, `TRIM`, `MAP[…]` |
//! | `is_json`, `json_exists`, `json_value`, `json_query`, `json_object`, `json_array`, `json_objectagg_null_on_null`, `json_objectagg_absent_on_null`, `json_arrayagg_null_on_null`, `json_arrayagg_absent_on_null` | functions on JSON, whose options are arguments: see the table in `json_functions.rs` |

mod ast;
mod create_table;
mod dialect;
mod durations;
mod functions;
mod hints;
mod json_functions;
mod literals;
mod match_recognize;
mod parser;
mod queries;
pub mod rewrite;
mod statement;
mod table_argument;
mod tokens;
mod types;
pub(crate) mod visit;

#[cfg(test)]
mod tests;

pub use create_table::{Column, CreateTable, LikeClause, WatermarkDefinition};
pub use dialect::FlinkDialect;
pub use durations::parse_duration;
pub use hints::Hint;
pub use literals::INTERVAL_FUNCTION;
pub use match_recognize::split_within;
pub use parser::parse;
pub use statement::{CreateView, ExplainDetail, ParsedStatement, Show, Statement};
pub use table_argument::{TableArgument, descriptor_columns};
pub use types::{FLINK_TYPE_KEY, FlinkType, FlinkTypePlanner, MAX_LENGTH, RowField, TypeKind};
