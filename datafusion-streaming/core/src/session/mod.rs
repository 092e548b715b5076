//! Installation into a DataFusion session, and the two front doors.
//!
//! [`install`] makes `ctx.sql()` plan streaming queries; [`FlinkSql::flink_sql`] adds Flink's own SQL
//! beside it.

mod changelog;
mod describe;
mod explain;
mod filters;
mod flink;
mod flink_types;
mod install;
mod join_conditions;
mod never_null;
mod options;
mod over;
mod rank_functions;
mod script;

pub(crate) use changelog::plan_job;
pub use changelog::{ChangelogDataFrame, ChangelogStream};
pub use flink::FlinkSql;
pub(crate) use flink::run_statement;
#[cfg(test)]
pub(crate) use flink_types::Arithmetic;
pub use install::{StreamingSessionStateBuilder, install, install_with};
pub use script::FlinkScript;
