//! Logical planning: table functions in FROM, and the nodes that they become.

mod extension;
mod global_aggregate;
mod group_windows;
mod intervals;
mod null_aware;
mod query;
mod relation;
mod to_changelog;
mod window_tvf;

pub(crate) use group_windows::{group_window_functions, plan_group_windows};
pub(crate) use null_aware::CorrelatedNotIn;

pub use extension::StreamingExtensionPlanner;
pub use global_aggregate::{GlobalAggregate, KeepGlobalAggregates};
pub use query::StreamingQueryPlanner;
pub use relation::StreamingRelationPlanner;
pub use to_changelog::ToChangelog;
pub use window_tvf::WindowTvf;
