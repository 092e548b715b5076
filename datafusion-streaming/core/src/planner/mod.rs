//! Logical planning: table functions in FROM, and the nodes that they become.

mod elements;
mod extension;
mod from_changelog;
mod global_aggregate;
mod group_id;
mod group_windows;
mod intervals;
mod late_rows;
mod lateral;
mod lookup;
mod match_recognize;
mod null_aware;
mod query;
mod relation;
mod set_operation;
mod single_row;
mod state_ttl;
mod subqueries;
mod temporal_join;
mod to_changelog;
mod unnest;
mod window_tvf;

pub(crate) use group_id::{ResolveGroupId, group_id_udaf};
pub(crate) use group_windows::{group_window_functions, plan_group_windows};
pub(crate) use null_aware::CorrelatedNotIn;
pub(crate) use single_row::SingleRowSubqueries;
pub(crate) use subqueries::FlinkSubqueries;

pub use elements::Items;
pub use extension::StreamingExtensionPlanner;
pub use from_changelog::FromChangelog;
pub use global_aggregate::{GlobalAggregate, KeepGlobalAggregates};
pub use late_rows::LateRows;
pub use lateral::LateralRule;
pub use match_recognize::{MatchClauses, MatchRecognize, MatchReference, MatchValues};
pub use query::StreamingQueryPlanner;
pub use relation::StreamingRelationPlanner;
pub use set_operation::CountingSetOperation;
pub use state_ttl::StateTtl;
pub use temporal_join::{TemporalJoin, VersionedTable};
pub use to_changelog::ToChangelog;
pub use unnest::{Unnest, UnnestSource};
pub use window_tvf::WindowTvf;
